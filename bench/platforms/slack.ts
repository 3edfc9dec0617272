// Events as the Events API posts them: somebody mentions the app in a channel. Signed ahead, within the minutes they are good for.
import { createHmac } from 'node:crypto'
import { httpRequest, link, noLink, scene } from './http-request.ts'

export const slackAccount = {
  botToken: 'xoxb-token-of-the-bench-0000',
  signingSecret: 'signing-secret-of-the-bench-0123',
  botUserId: 'U0PARLEY1',
  appId: 'A0PARLEY1',
} as const

export const slackPath = '/hooks/slack/bench'

const team = 'T0PARLEY1'
let nextId = 1

export function slackRequests(_run: string, count: number, hasLink: boolean): readonly Buffer[] {
  return Array.from({ length: count }, (_, index) => signed(Buffer.from(JSON.stringify(event(index, hasLink)))))
}

function signed(body: Buffer): Buffer {
  const time = String(Math.floor(Date.now() / 1000))
  const mac = createHmac('sha256', slackAccount.signingSecret).update(`v0:${time}:`).update(body).digest('hex')
  return httpRequest(slackPath, { 'x-slack-request-timestamp': time, 'x-slack-signature': `v0=${mac}` }, body)
}

function event(index: number, hasLink: boolean): object {
  const { text, person, room } = scene(index)
  const seconds = Math.floor(Date.now() / 1000)
  const ts = `${seconds}.${String(nextId).padStart(6, '0')}`
  nextId += 1
  const { botUserId, appId } = slackAccount
  const said = [
    { type: 'user', user_id: botUserId },
    { type: 'text', text: ` ${text} ${hasLink ? '' : noLink}` },
    ...(hasLink ? [{ type: 'link', url: link }] : []),
  ]
  return {
    token: 'legacy-token-nobody-reads',
    team_id: team,
    api_app_id: appId,
    event: {
      type: 'app_mention',
      user: `U0PERSON${String(person).padStart(3, '0')}`,
      ts,
      client_msg_id: `00000000-0000-4000-8000-${String(nextId).padStart(12, '0')}`,
      text: `<@${botUserId}> ${text} ${hasLink ? `<${link}>` : noLink}`,
      team,
      blocks: [{ type: 'rich_text', block_id: 'b1', elements: [{ type: 'rich_text_section', elements: said }] }],
      channel: `C0ROOM${String(room).padStart(4, '0')}`,
      event_ts: ts,
    },
    type: 'event_callback',
    event_id: `Ev${String(nextId).padStart(9, '0')}`,
    event_time: seconds,
    authorizations: [
      { enterprise_id: null, team_id: team, user_id: botUserId, is_bot: true, is_enterprise_install: false },
    ],
    is_ext_shared_channel: false,
    event_context: '4-eyJldCI6ImFwcF9tZW50aW9uIn0',
  }
}
