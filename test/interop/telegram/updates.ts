// Updates that both sides read: one of each kind that tells the two apart, or might.

const ada = {
  id: 5000000000,
  is_bot: false,
  first_name: 'Ada',
  last_name: 'Lovelace',
  username: 'ada',
  language_code: 'en',
}
const us = { id: 7000001, is_bot: true, first_name: 'Gateway', username: 'gw_bot' }
const dm = { id: 5000000000, type: 'private', first_name: 'Ada', username: 'ada' }
const group = { id: -1001, type: 'supergroup', title: 'Lamps' }
const forum = { ...group, is_forum: true }

let nextId = 1

function said(fields: object, kind = 'message'): object {
  const id = nextId
  nextId += 1
  return { update_id: id, [kind]: { message_id: id, from: ada, chat: group, date: 1763300000, ...fields } }
}

function named(text: string, length: number, offset = 0): object {
  return { text, entities: [{ type: 'mention', offset, length }] }
}

const photo = [{ file_id: 'p', file_unique_id: 'q', width: 90, height: 90, file_size: 1000 }]
const document = { file_id: 'd', file_unique_id: 'e', file_name: 'a.pdf', mime_type: 'application/pdf', file_size: 9 }
const voice = { file_id: 'v', file_unique_id: 'w', duration: 3, mime_type: 'audio/ogg', file_size: 9 }

export const cases: Readonly<Record<string, object>> = {
  'a private text': said({ chat: dm, text: 'hello there' }),
  'a name in a group': said(named('@gw_bot hello', 7)),
  'a name in other letters': said(named('@GW_BOT hello', 7)),
  'a longer name': said(named('@gw_bot_dev hello', 11)),
  'a name with a hyphen behind it': said(named('@gw_bot-dev hello', 7)),
  'words for nobody': said({ text: 'hello all' }),
  'a name behind an emoji': said(named('🙂 @gw_bot hi', 7, 3)),
  'a name in a topic': said({
    ...named('@gw_bot hello', 7),
    chat: forum,
    is_topic_message: true,
    message_thread_id: 42,
  }),
  'a reply that carries a thread id': said({
    text: 'as I said',
    message_thread_id: 9,
    reply_to_message: { message_id: 9, from: ada, chat: group, date: 1763300000, text: 'hello' },
  }),
  'a reply to us': said({
    text: 'thanks',
    reply_to_message: { message_id: 9, from: us, chat: group, date: 1763300000, text: 'done' },
  }),
  'a mention by id': said({ text: 'Gateway?', entities: [{ type: 'text_mention', offset: 0, length: 7, user: us }] }),
  'a command for us': said({ text: '/ask@gw_bot now', entities: [{ type: 'bot_command', offset: 0, length: 11 }] }),
  'a command for another bot': said({
    text: '/ask@other_bot now',
    entities: [{ type: 'bot_command', offset: 0, length: 14 }],
  }),
  'bold text': said({ chat: dm, text: 'so bold', entities: [{ type: 'bold', offset: 3, length: 4 }] }),
  'a photo with a caption': said({ chat: dm, photo, caption: 'look' }),
  'a document without words': said({ chat: dm, document }),
  'a voice message': said({ chat: dm, voice }),
  'a post in a channel': said(
    { from: undefined, chat: { id: -1002, type: 'channel', title: 'News' }, text: 'news' },
    'channel_post',
  ),
  'an anonymous admin': said({
    from: { id: 1087968824, is_bot: true, first_name: 'Group', username: 'GroupAnonymousBot' },
    sender_chat: group,
    text: 'rules',
  }),
  'another bot': said({ from: { id: 77, is_bot: true, first_name: 'Other', username: 'other_bot' }, text: 'beep' }),
  'a place': said({ chat: dm, location: { latitude: 1.5, longitude: 2.5 } }),
}
