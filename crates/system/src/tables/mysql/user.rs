//! The accounts. Authentication strings are shown to users who may see accounts, as in MySQL.

use schema::privilege::Privilege;
use types::json::JsonBinary;
use types::{Result, Value};

use crate::table::{Context, Row, SystemTable};
use crate::values::{flag, number, text};

pub(crate) struct User;

impl SystemTable for User {
    fn name(&self) -> &'static str {
        "mysql.user"
    }

    fn columns(&self) -> &'static str {
        r#"
Host char(255) ascii NOT ""
User char(32) bin NOT ""
Select_priv enum('N','Y') ci NOT N
Insert_priv enum('N','Y') ci NOT N
Update_priv enum('N','Y') ci NOT N
Delete_priv enum('N','Y') ci NOT N
Create_priv enum('N','Y') ci NOT N
Drop_priv enum('N','Y') ci NOT N
Reload_priv enum('N','Y') ci NOT N
Shutdown_priv enum('N','Y') ci NOT N
Process_priv enum('N','Y') ci NOT N
File_priv enum('N','Y') ci NOT N
Grant_priv enum('N','Y') ci NOT N
References_priv enum('N','Y') ci NOT N
Index_priv enum('N','Y') ci NOT N
Alter_priv enum('N','Y') ci NOT N
Show_db_priv enum('N','Y') ci NOT N
Super_priv enum('N','Y') ci NOT N
Create_tmp_table_priv enum('N','Y') ci NOT N
Lock_tables_priv enum('N','Y') ci NOT N
Execute_priv enum('N','Y') ci NOT N
Repl_slave_priv enum('N','Y') ci NOT N
Repl_client_priv enum('N','Y') ci NOT N
Create_view_priv enum('N','Y') ci NOT N
Show_view_priv enum('N','Y') ci NOT N
Create_routine_priv enum('N','Y') ci NOT N
Alter_routine_priv enum('N','Y') ci NOT N
Create_user_priv enum('N','Y') ci NOT N
Event_priv enum('N','Y') ci NOT N
Trigger_priv enum('N','Y') ci NOT N
Create_tablespace_priv enum('N','Y') ci NOT N
ssl_type enum('','ANY','X509','SPECIFIED') ci NOT ""
ssl_cipher blob - NOT
x509_issuer blob - NOT
x509_subject blob - NOT
max_questions int_unsigned - NOT 0
max_updates int_unsigned - NOT 0
max_connections int_unsigned - NOT 0
max_user_connections int_unsigned - NOT 0
plugin char(64) bin NOT caching_sha2_password
authentication_string text bin NULL
password_expired enum('N','Y') ci NOT N
password_last_changed timestamp - NULL
password_lifetime smallint_unsigned - NULL
account_locked enum('N','Y') ci NOT N
Create_role_priv enum('N','Y') ci NOT N
Drop_role_priv enum('N','Y') ci NOT N
Password_reuse_history smallint_unsigned - NULL
Password_reuse_time smallint_unsigned - NULL
Password_require_current enum('N','Y') ci NULL
User_attributes json - NULL
"#
    }

    fn rows(&self, ctx: &Context<'_>) -> Result<Vec<Row>> {
        Ok(ctx
            .all_accounts()
            .iter()
            .map(|account| {
                let global = account.privileges.global;
                let mut row = vec![text(&account.host), text(&account.user)];
                // Select_priv to Create_tablespace_priv; those of roles come last.
                row.extend(
                    Privilege::all()
                        .take(29)
                        .map(|privilege| flag(global.has(privilege))),
                );
                let options = &account.options;
                let limits = options.limits;
                row.push(text(match &options.certificate {
                    None if options.requires_tls => "ANY",
                    None => "",
                    Some(certificate) if certificate.is_any() => "X509",
                    Some(_) => "SPECIFIED",
                }));
                let certificate = options.certificate.clone().unwrap_or_default();
                let parts = [certificate.cipher, certificate.issuer, certificate.subject];
                row.extend(parts.map(|part| Value::Bytes(part.unwrap_or_default().into_bytes())));
                let limits = [
                    limits.queries_per_hour,
                    limits.updates_per_hour,
                    limits.connections_per_hour,
                    limits.connections,
                ];
                row.extend(limits.map(|limit| number(u64::from(limit))));
                let days = |days: Option<u16>| days.map_or(Value::Null, |days| number(u64::from(days)));
                row.extend([
                    text(&account.plugin),
                    text(&account.authentication),
                    flag(account.password_expired),
                    ctx.timestamp(account.password_changed_us),
                    days(options.password_days),
                    flag(account.locked),
                    flag(global.has(Privilege::CreateRole)),
                    flag(global.has(Privilege::DropRole)),
                    days(options.history),
                    days(options.reuse_days),
                    options.requires_current.map_or(Value::Null, flag),
                    options
                        .user_attributes(&account.privileges.restrictions)
                        .and_then(|text| JsonBinary::parse(text.as_bytes()).ok())
                        .map_or(Value::Null, Value::Json),
                ]);
                row
            })
            .collect())
    }
}
