// The errors that Slack's reference names for the methods Parley calls (docs.slack.dev/reference/methods), as words.

/** Those of any method. */
export const commonErrors = `
    access_denied accesslimited account_inactive deprecated_endpoint ekm_access_denied enterprise_is_restricted fatal_error
    internal_error invalid_arg_name invalid_arguments invalid_array_arg invalid_auth invalid_charset invalid_form_data
    invalid_post_type method_deprecated missing_post_type missing_scope no_permission not_allowed_token_type not_authed
    org_login_required ratelimited request_timeout service_unavailable team_access_not_granted team_added_to_org
    token_expired token_revoked two_factor_setup_required`
  .trim()
  .split(/\s+/)

export const errorsOf: Readonly<Record<string, readonly string[]>> = {
  'chat.postMessage': `
    app_access_restricted as_user_not_supported attachment_payload_limit_exceeded cannot_reply_to_message channel_not_found
    draft_already_deleted draft_already_sent draft_has_conflict draft_not_found duplicate_channel_not_found
    duplicate_message_not_found invalid_blocks invalid_blocks_format invalid_metadata_format invalid_metadata_schema
    is_archived is_bot markdown_text_conflict message_limit_exceeded messages_tab_disabled metadata_must_be_sent_from_app
    metadata_too_large missing_file_data msg_blocks_too_long no_text not_in_channel rate_limited restricted_action
    restricted_action_non_threadable_channel restricted_action_read_only_channel restricted_action_thread_locked
    restricted_action_thread_only_channel send_on_behalf_not_allowed slack_connect_canvas_sharing_blocked
    slack_connect_file_link_sharing_blocked slack_connect_lists_sharing_blocked team_not_found too_many_attachments
    too_many_contact_cards unknown_method`
    .trim()
    .split(/\s+/),
  'chat.postEphemeral': `
    cannot_reply_to_message channel_not_found invalid_attachments invalid_blocks invalid_blocks_format is_archived is_bot
    markdown_text_conflict message_limit_exceeded messages_tab_disabled msg_too_long no_text not_in_channel restricted_action
    too_many_attachments unknown_method user_not_in_channel`
    .trim()
    .split(/\s+/),
  'chat.update': `
    as_user_not_supported block_mismatch blocked_file_type cant_broadcast_message cant_update_message channel_not_found
    edit_window_closed external_channel_migrating file_deleted file_is_deleted file_not_found file_share_limit_reached
    invalid_attachments invalid_blocks invalid_blocks_format invalid_metadata_format invalid_metadata_schema is_bot
    is_inactive markdown_text_conflict max_file_sharing_exceeded message_limit_exceeded message_not_found
    metadata_must_be_sent_from_app metadata_too_large msg_too_long no_dual_broadcast_content_update no_text
    posting_to_channel_denied slack_connect_blocked_file_type slack_connect_canvas_sharing_blocked
    slack_connect_clip_sharing_blocked slack_connect_file_link_sharing_blocked slack_connect_file_upload_sharing_blocked
    streaming_state_conflict team_not_found too_many_attachments unable_to_share_files unknown_method update_failed`
    .trim()
    .split(/\s+/),
  'chat.startStream': `
    channel_not_found channel_type_not_supported duplicate_channel_not_found duplicate_message_not_found invalid_blocks
    invalid_blocks_format invalid_chunks invalid_metadata_format invalid_metadata_schema is_archived is_bot
    message_limit_exceeded messages_tab_disabled messaging_processing_failed metadata_must_be_sent_from_app
    metadata_too_large missing_recipient_team_id missing_recipient_user_id msg_blocks_too_long msg_blocks_too_many no_text
    not_in_channel not_subscribed_to_message_stream_stopped rate_limited restricted_action
    restricted_action_non_threadable_channel restricted_action_read_only_channel restricted_action_thread_locked
    restricted_action_thread_only_channel slack_connect_canvas_sharing_blocked slack_connect_file_link_sharing_blocked
    slack_connect_lists_sharing_blocked team_not_found unknown_method user_not_found`
    .trim()
    .split(/\s+/),
  'chat.appendStream': `
    as_user_not_supported channel_not_found channel_type_not_supported duplicate_channel_not_found
    duplicate_message_not_found invalid_blocks invalid_chunks invalid_metadata_format invalid_metadata_schema is_archived
    is_bot message_limit_exceeded message_not_found message_not_in_streaming_state message_not_owned_by_app
    messages_tab_disabled messaging_processing_failed metadata_must_be_sent_from_app metadata_too_large msg_blocks_too_long
    msg_blocks_too_many no_text not_in_channel rate_limited restricted_action restricted_action_non_threadable_channel
    restricted_action_read_only_channel restricted_action_thread_locked restricted_action_thread_only_channel
    slack_connect_canvas_sharing_blocked slack_connect_file_link_sharing_blocked slack_connect_lists_sharing_blocked
    stopped_by_user team_not_found too_many_attachments too_many_contact_cards unknown_method`
    .trim()
    .split(/\s+/),
  'chat.stopStream': `
    as_user_not_supported attachment_payload_limit_exceeded cannot_reply_to_message channel_not_found
    channel_type_not_supported duplicate_channel_not_found duplicate_message_not_found invalid_blocks invalid_chunks
    invalid_metadata_format invalid_metadata_schema is_archived is_bot message_limit_exceeded message_not_found
    message_not_in_streaming_state message_not_owned_by_app messages_tab_disabled metadata_must_be_sent_from_app
    metadata_too_large missing_file_data msg_blocks_too_long msg_blocks_too_many no_text not_in_channel rate_limited
    restricted_action restricted_action_non_threadable_channel restricted_action_read_only_channel
    restricted_action_thread_locked restricted_action_thread_only_channel slack_connect_canvas_sharing_blocked
    slack_connect_file_link_sharing_blocked slack_connect_lists_sharing_blocked team_not_found too_many_attachments
    too_many_contact_cards unknown_method`
    .trim()
    .split(/\s+/),
  'files.getUploadURLExternal': `
    alt_txt_too_large file_type_not_allowed file_upload_size_restricted file_uploads_disabled
    file_uploads_except_images_disabled is_bot missing_argument snippet_too_large storage_limit_reached unknown_method
    unknown_snippet_type unknown_subtype`
    .trim()
    .split(/\s+/),
  'files.completeUploadExternal': `
    channel_not_found channels_limit_exceeded file_not_found file_type_not_allowed file_update_failed
    file_uploads_except_images_disabled invalid_blocks invalid_channel is_bot not_in_channel posting_to_channel_denied
    unknown_method`
    .trim()
    .split(/\s+/),
  'files.info': `
    canvas_disabled_file_team canvas_disabled_user_team canvas_globally_disabled file_deleted file_not_found is_bot
    not_visible slack_connect_canvas_sharing_blocked template_not_visible unknown_method`
    .trim()
    .split(/\s+/),
  'reactions.add': `
    already_reacted bad_timestamp channel_not_found external_channel_migrating invalid_name is_archived is_bot
    message_not_found no_access no_item_specified not_reactable thread_locked too_many_emoji too_many_reactions
    unknown_method`
    .trim()
    .split(/\s+/),
  'reactions.remove': `
    bad_timestamp channel_not_found external_channel_migrating file_comment_not_found file_not_found invalid_name is_bot
    message_not_found no_access no_item_specified no_reaction thread_locked unknown_method`
    .trim()
    .split(/\s+/),
  'assistant.threads.setStatus': `
    channel_not_found invalid_thread_ts is_bot reserved_username unknown_method`
    .trim()
    .split(/\s+/),
  'assistant.threads.setTitle': `
    channel_not_found invalid_thread_ts is_bot unknown_method`
    .trim()
    .split(/\s+/),
  'assistant.threads.setSuggestedPrompts': `
    channel_not_found invalid_thread_ts is_bot message_not_found not_agent_app unknown_method`
    .trim()
    .split(/\s+/),
  'agents.sessions.setStatus': `
    channel_not_found feature_disabled invalid_status is_bot not_authorized thread_ts_not_allowed thread_ts_required
    unknown_method user_not_found`
    .trim()
    .split(/\s+/),
  'conversations.replies': `
    channel_not_found invalid_cursor invalid_metadata_filter_keys invalid_ts_latest invalid_ts_oldest is_bot
    list_record_comment_fetch_failed method_not_supported_for_channel_type thread_not_found unknown_method`
    .trim()
    .split(/\s+/),
  'conversations.history': `
    channel_is_limited_access channel_not_found invalid_cursor invalid_metadata_filter_keys invalid_ts_latest
    invalid_ts_oldest is_bot not_in_channel unknown_method`
    .trim()
    .split(/\s+/),
  'auth.test': `
    is_bot unknown_method`
    .trim()
    .split(/\s+/),
  'oauth.v2.access': `
    bad_client_secret bad_redirect_uri cannot_install_an_org_installed_app invalid_client_id invalid_code
    invalid_code_verifier invalid_grant_type invalid_refresh_token is_bot no_scopes oauth_authorization_url_mismatch
    pkce_not_allowed preview_feature_not_available unknown_method user_email_unverified`
    .trim()
    .split(/\s+/),
}
