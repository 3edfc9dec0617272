// The Bot API's field names by what Parley does with them; an update in no list is kept for a later release to read.

/** Update fields that carry a message a person wrote, and whether they amend an earlier one. */
export const messageFields = {
  message: 'new',
  edited_message: 'edit',
  channel_post: 'new',
  edited_channel_post: 'edit',
  business_message: 'new',
  edited_business_message: 'edit',
  guest_message: 'new',
} as const

/** What Telegram is asked to deliver, by webhook and by polling alike: it remembers an older list otherwise. */
export const allowedUpdates = [
  ...(['message', 'edited_message', 'channel_post', 'edited_channel_post', 'business_message'] as const),
  ...(['edited_business_message', 'deleted_business_messages', 'guest_message', 'callback_query'] as const),
  ...(['stopped_message_generation', 'my_chat_member'] as const),
]

/** The closed list of updates that leave no row: they ask for nothing and no later release will want them back. */
export const noiseFields: ReadonlySet<string> = new Set(
  splitWords(`
  inline_query chosen_inline_result poll poll_answer message_reaction message_reaction_count
  chat_boost removed_chat_boost chat_member
`),
)

/** Content beside text, by the field that carries it. The first that is present names the message. */
export const contentFields: readonly string[] = splitWords(`
  live_photo photo animation video video_note voice audio sticker document venue location contact poll
  dice checklist story paid_media game invoice giveaway rich_message
`)

/** Messages Telegram writes itself: joins, titles, pins, payments. Nothing was said to the agent. */
export const serviceFields: ReadonlySet<string> = new Set(
  splitWords(`
  new_chat_members left_chat_member new_chat_title new_chat_photo delete_chat_photo group_chat_created
  supergroup_chat_created channel_chat_created message_auto_delete_timer_changed migrate_to_chat_id
  migrate_from_chat_id pinned_message successful_payment refunded_payment users_shared chat_shared
  connected_website write_access_allowed passport_data proximity_alert_triggered boost_added
  chat_background_set checklist_tasks_done checklist_tasks_added direct_message_price_changed
  forum_topic_created forum_topic_edited forum_topic_closed forum_topic_reopened
  general_forum_topic_hidden general_forum_topic_unhidden giveaway_created giveaway_winners
  giveaway_completed paid_message_price_changed gift unique_gift gift_upgrade_sent
  video_chat_scheduled video_chat_started video_chat_ended video_chat_participants_invited
  web_app_data
`),
)

function splitWords(list: string): readonly string[] {
  return list.trim().split(/\s+/)
}
