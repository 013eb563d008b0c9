//! A stand-in kubelet and our client, over a socket in a temporary directory.

use gpu_kubelet::{
    connect, listen,
    podresources::{self as api, pod_resources_lister_server as server},
};
use tonic::{Request, Response, Status, transport::Server};

/// Answers with one pod whose name is `name_bytes` long.
struct OnePod {
    name_bytes: usize,
}

#[tonic::async_trait]
impl server::PodResourcesLister for OnePod {
    async fn list(
        &self,
        _: Request<api::ListPodResourcesRequest>,
    ) -> Result<Response<api::ListPodResourcesResponse>, Status> {
        let pod = api::PodResources {
            name: "p".repeat(self.name_bytes),
            ..Default::default()
        };
        Ok(Response::new(api::ListPodResourcesResponse {
            pod_resources: vec![pod],
        }))
    }

    async fn get_allocatable_resources(
        &self,
        _: Request<api::AllocatableResourcesRequest>,
    ) -> Result<Response<api::AllocatableResourcesResponse>, Status> {
        Err(Status::unimplemented("switched off"))
    }

    async fn get(
        &self,
        _: Request<api::GetPodResourcesRequest>,
    ) -> Result<Response<api::GetPodResourcesResponse>, Status> {
        Err(Status::not_found("no such pod"))
    }
}

/// Lists the one pod of a stand-in kubelet, whose socket a dead predecessor had left behind.
async fn listed_name_bytes(name_bytes: usize) -> usize {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("kubelet.sock");
    drop(listen(&socket).unwrap());
    let incoming = listen(&socket).unwrap();
    let service =
        server::PodResourcesListerServer::new(OnePod { name_bytes }).max_encoding_message_size(usize::MAX);
    let serving = tokio::spawn(Server::builder().serve_with_incoming(service, incoming));
    let mut client = api::client(&socket).await.unwrap();
    let answer = client
        .list(api::ListPodResourcesRequest {})
        .await
        .unwrap()
        .into_inner();
    serving.abort();
    answer.pod_resources[0].name.len()
}

#[tokio::test]
async fn a_small_answer_arrives() {
    assert_eq!(listed_name_bytes(3).await, 3);
}

#[tokio::test]
async fn an_answer_beyond_the_usual_limit_of_four_mebibytes_arrives() {
    assert_eq!(listed_name_bytes(10 << 20).await, 10 << 20);
}

#[tokio::test]
async fn a_missing_socket_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let error = connect(&directory.path().join("nobody.sock")).await.unwrap_err();
    assert!(error.to_string().contains("nobody.sock"), "{error}");
}
