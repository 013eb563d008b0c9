//! Tokens, passwords and headers of the settings.

use super::*;
use crate::http::client::{Authorization, HeaderName, HeaderValue, Secret, SettingsError, header};

async fn authorization_sent(address: SocketAddr, client: &Client) -> Option<String> {
    let said = client
        .fetch(Request::get(url(address, "/headers")), GENEROUS)
        .await
        .unwrap();
    let said = String::from_utf8(said.body.to_vec()).unwrap();
    let line = said.lines().find_map(|line| line.strip_prefix("authorization: "));
    line.map(str::to_owned)
}

fn with(authorization: Authorization) -> Result<Client, SettingsError> {
    Client::new(ClientSettings {
        authorization,
        ..local()
    })
}

#[tokio::test]
async fn each_kind_of_credentials_is_sent() {
    let address = start().await;
    assert_eq!(authorization_sent(address, &client()).await, None);
    let bearer = with(Authorization::Bearer(Secret::new("abc"))).unwrap();
    assert_eq!(authorization_sent(address, &bearer).await.unwrap(), "Bearer abc");
    let basic = Authorization::Basic {
        user: "Aladdin".to_owned(),
        password: Secret::new("open sesame"),
    };
    // The example of RFC 7617.
    let expected = "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==";
    assert_eq!(
        authorization_sent(address, &with(basic).unwrap()).await.unwrap(),
        expected
    );
}

#[tokio::test]
async fn a_user_in_the_address_is_one_where_no_other_is_given() {
    let address = start().await;
    let sent = async |client: Client| {
        let url = format!("http://Aladdin:open%20sesame@{address}/headers")
            .parse()
            .unwrap();
        let said = client.fetch(Request::get(url), GENEROUS).await.unwrap();
        let said = String::from_utf8(said.body.to_vec()).unwrap();
        let line = said.lines().find_map(|line| line.strip_prefix("authorization: "));
        line.map(str::to_owned).unwrap()
    };
    assert_eq!(sent(client()).await, "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
    assert_eq!(
        sent(with(Authorization::Bearer(Secret::new("abc"))).unwrap()).await,
        "Bearer abc"
    );
}

#[tokio::test]
async fn a_token_file_is_read_again_when_it_changes() {
    let address = start().await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("token");
    std::fs::write(&path, "first\n").unwrap();
    let client = with(Authorization::BearerFile(path.clone())).unwrap();
    assert_eq!(
        authorization_sent(address, &client).await.unwrap(),
        "Bearer first"
    );
    // Replaced at once, as the kubelet does it.
    let next = folder.path().join("next");
    std::fs::write(&next, "other\n").unwrap();
    std::fs::rename(&next, &path).unwrap();
    assert_eq!(
        authorization_sent(address, &client).await.unwrap(),
        "Bearer other"
    );
    // Gone for a moment: the last one stands.
    std::fs::remove_file(&path).unwrap();
    assert_eq!(
        authorization_sent(address, &client).await.unwrap(),
        "Bearer other"
    );
}

#[test]
fn a_token_file_that_is_missing_or_empty_at_the_start_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("token");
    let missing = with(Authorization::BearerFile(path.clone())).unwrap_err();
    assert!(matches!(missing, SettingsError::Read { .. }), "{missing:?}");
    std::fs::write(&path, " \n").unwrap();
    let empty = with(Authorization::BearerFile(path)).unwrap_err();
    assert!(empty.to_string().ends_with("holds no token"), "{empty}");
    let broken = with(Authorization::Bearer(Secret::new("a\nb"))).unwrap_err();
    assert!(matches!(broken, SettingsError::Credentials), "{broken:?}");
}

#[tokio::test]
async fn headers_of_the_request_win_over_those_of_the_settings() {
    let address = start().await;
    let mut settings = ClientSettings {
        authorization: Authorization::Bearer(Secret::new("ours")),
        ..local()
    };
    let tenant = HeaderName::from_static("x-scope-orgid");
    settings
        .headers
        .insert(tenant, HeaderValue::from_static("research"));
    let client = Client::new(settings).unwrap();
    let request = Request::get(url(address, "/headers"))
        .header(header::AUTHORIZATION, HeaderValue::from_static("Signed"));
    let said = client.fetch(request, GENEROUS).await.unwrap();
    let said = String::from_utf8(said.body.to_vec()).unwrap();
    assert!(
        said.contains("authorization: Signed\n") && said.contains("x-scope-orgid: research\n"),
        "{said}"
    );
}

#[test]
fn settings_print_no_secret() {
    let settings = ClientSettings {
        authorization: Authorization::Bearer(Secret::new("hunter2")),
        ..local()
    };
    let client = Client::new(settings.clone()).unwrap();
    assert!(!format!("{settings:?} {client:?}").contains("hunter2"));
}
