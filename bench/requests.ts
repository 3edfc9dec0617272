// What every subject is sent: signed webhooks of about 2 KB as a chat platform writes them, each with an id of its own.
import { createHmac } from 'node:crypto'

export const secret = 'loopback-secret-of-the-bench'
export const signatureHeader = 'x-loopback-signature'
const hookPath = '/hooks/loopback-client-id/bench'

const rooms = 1000
const people = 400
const sentence =
  'Could you look at the order from last week, the one with the two blue lamps, and tell me when it will be here? '
// One message in four is not plain ASCII, as in real rooms.
const endings = ['Thanks.', 'Thank you very much in advance.', 'It is for Sunday.', 'Grüße aus Köln 🙂']

/** Whole HTTP requests, signed ahead: while the clock runs, the driver only writes bytes. */
export function signedRequests(run: string, count: number): readonly Buffer[] {
  const requests: Buffer[] = []
  for (let index = 0; index < count; index += 1) requests.push(signedRequest(`${run}-${index}`, index))
  return requests
}

function signedRequest(id: string, index: number): Buffer {
  const body = Buffer.from(JSON.stringify(event(id, index)))
  const signature = createHmac('sha256', secret).update(body).digest('hex')
  const head = [
    `POST ${hookPath} HTTP/1.1`,
    'host: 127.0.0.1',
    'user-agent: platform-robot/1.0',
    'accept: */*',
    'content-type: application/json',
    `content-length: ${body.length}`,
    `${signatureHeader}: sha256=${signature}`,
    'connection: keep-alive',
  ]
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), body])
}

/** The fields the channel reads, and around them the ones that platforms send and nobody asked for. */
function event(id: string, index: number): object {
  const text = `${sentence.repeat(3)}${endings[index % endings.length]}`
  const from = `person-${index % people}`
  return {
    id,
    deliveryId: `d-${id}`,
    from,
    conversation: `room-${index % rooms}`,
    text,
    team: { id: 'T0481516', name: 'Lamps and more', domain: 'lamps.example', enterprise: null, plan: 'standard' },
    user: { id: from, name: 'A person', locale: 'en-GB', zone: 'Europe/Vienna', is_admin: false, updated: 1731421200 },
    client: { app: 'desktop', version: '4.41.98', platform: 'linux', message_id: `c-${id}` },
    authorizations: [{ enterprise_id: null, team_id: 'T0481516', user_id: 'U0AGENT', is_bot: true }],
    blocks: [
      {
        type: 'rich_text',
        block_id: `b-${index}`,
        elements: [{ type: 'rich_text_section', elements: [{ type: 'text', text }] }],
      },
    ],
    metadata: {
      event_context: '4-message-T0481516-A0481516-C0481516',
      is_external_shared: false,
      channel_kind: 'group',
      retry: { count: 0, reason: null },
      links: ['https://lamps.example/orders/4815162342', 'https://lamps.example/help?topic=delivery'],
    },
  }
}
