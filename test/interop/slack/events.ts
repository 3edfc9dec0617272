// Events that both sides read: one of each kind that tells the two apart, or might.
import { ada, bot, envelope, message } from '../../conformance/slack/slack-setup.ts'

const pdf = {
  id: 'F0PDF0001',
  name: 'a.pdf',
  mimetype: 'application/pdf',
  size: 9,
  url_private: 'https://files.slack.com/files-pri/T-F/a.pdf',
}
const png = {
  id: 'F0PNG0001',
  name: 'a.png',
  mimetype: 'image/png',
  size: 9,
  url_private: 'https://files.slack.com/files-pri/T-F/a.png',
}
const voice = {
  id: 'F0OGG0001',
  name: 'a.mp4',
  mimetype: 'audio/mp4',
  size: 9,
  url_private: 'https://files.slack.com/files-pri/T-F/a.mp4',
}
const dm = { channel: 'D0ADA0001', channel_type: 'im' }
const mpim = { channel: 'G0GROUP01', channel_type: 'mpim' }
const thread = { thread_ts: '1763300000.000001', parent_user_id: ada }
const named = `<@${bot}> hello`
const code = [
  {
    type: 'rich_text',
    elements: [{ type: 'rich_text_section', elements: [{ type: 'text', text: `<@${bot}>`, style: { code: true } }] }],
  },
]

let nextId = 1

function said(fields: object): object {
  nextId += 1
  const ts = `1763300000.${String(nextId).padStart(6, '0')}`
  return message({ ts, event_ts: ts, client_msg_id: `c-${nextId}`, ...fields }, { event_id: `Ev${nextId}` })
}

export const cases: Readonly<Record<string, object>> = {
  'a direct text': said({ ...dm, text: 'hello there' }),
  'a direct text in a thread': said({ ...dm, ...thread, text: 'hello there' }),
  'a mention as a mention': said({ type: 'app_mention', channel_type: undefined, text: named }),
  'a mention as a message': said({ text: named }),
  'a mention in a thread': said({ type: 'app_mention', channel_type: undefined, ...thread, text: named }),
  'a mention behind other words': said({
    type: 'app_mention',
    channel_type: undefined,
    text: `hello <@${bot}>, are you there?`,
  }),
  'a mention in a private channel': said({
    type: 'app_mention',
    channel: 'G0PRIVATE',
    channel_type: undefined,
    text: named,
  }),
  'words for nobody': said({ text: 'hello all' }),
  'words for somebody else': said({ text: '<@U0BOB0001> hello' }),
  'words in a group of people': said({ ...mpim, text: 'hello all' }),
  'our name in code': said({ text: `\`<@${bot}>\``, blocks: code }),
  'entities of Slack': said({ ...dm, text: 'a &amp;lt; b &lt;c&gt;' }),
  'a link with a label': said({ ...dm, text: 'see <https://e.com?a=1&amp;b=2|the page>' }),
  'a link without one': said({ ...dm, text: 'see <https://e.com/x>' }),
  'a channel and everybody': said({ ...dm, text: '<!here> look at <#C0GENERAL1|general>' }),
  'bold and code': said({ ...dm, text: 'so *bold* and `code`' }),
  'a file with words': said({ ...dm, subtype: 'file_share', text: 'look', files: [png] }),
  'two files without words': said({ ...dm, subtype: 'file_share', text: '', files: [png, pdf] }),
  'a voice message': said({ ...dm, subtype: 'file_share', text: '', files: [voice] }),
  'a reply shown in the channel too': said({ subtype: 'thread_broadcast', ...thread, text: named }),
  'a person of another workspace': said({
    type: 'app_mention',
    channel_type: undefined,
    user: 'U0STRANGE',
    user_team: 'T0OTHER01',
    text: named,
  }),
  'our own words': said({ user: bot, bot_id: 'B0PARLEY1', app_id: 'A0PARLEY1', text: 'I said' }),
  'another bot': said({ subtype: 'bot_message', user: undefined, bot_id: 'B0OTHER01', text: `<@${bot}> beep` }),
  'a change of words': envelope({
    type: 'message',
    subtype: 'message_changed',
    ...dm,
    ts: '1763300009.000200',
    event_ts: '1763300009.000200',
    message: {
      type: 'message',
      user: ada,
      text: 'hello, corrected',
      ts: '1763300000.000002',
      edited: { user: ada, ts: '1763300009.000000' },
    },
    previous_message: { type: 'message', user: ada, text: 'hello', ts: '1763300000.000002' },
  }),
  'somebody came in': said({ subtype: 'channel_join', text: `<@${ada}> has joined the channel` }),
  'a notice of Slack': said({ ...dm, user: 'USLACK', text: 'notice' }),
}
