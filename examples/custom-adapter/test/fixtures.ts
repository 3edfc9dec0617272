// What the kit needs to know of the channel: captured payloads with what they say, and how the platform signs and answers.
import type { RawRequest } from 'parley-gateway'
import type { AdapterFixtures } from 'parley-gateway/testing'
import { discordChannel } from '../adapter/index.ts'
import type { Call } from '../adapter/wire.ts'

export const now = Date.parse('2026-11-18T12:00:00.000Z')
const receivedAt = new Date(now).toISOString()
const applicationId = '900000000000000001'
const botToken = 'canary.bot.token.canary.bot.token'
const [own, other] = [await keyPair(), await keyPair()]

export async function keyPair() {
  const pair = (await crypto.subtle.generateKey('Ed25519', true, ['sign', 'verify'])) as CryptoKeyPair
  const raw = new Uint8Array(await crypto.subtle.exportKey('raw', pair.publicKey))
  return { publicKey: Buffer.from(raw).toString('hex'), privateKey: pair.privateKey }
}

/** As the platform signs: the timestamp in seconds, and the body behind it. */
export async function signedHeaders(
  privateKey: CryptoKey,
  bytes: Uint8Array,
  atMs: number,
): Promise<Record<string, string>> {
  const timestamp = String(Math.floor(atMs / 1000))
  const signature = await crypto.subtle.sign('Ed25519', privateKey, Buffer.concat([Buffer.from(timestamp), bytes]))
  return {
    'content-type': 'application/json',
    'x-signature-ed25519': Buffer.from(signature).toString('hex'),
    'x-signature-timestamp': timestamp,
  }
}

export function slashCommand(id: string, text: string, changes: object = {}) {
  return {
    id,
    application_id: applicationId,
    type: 2,
    token: `token-of-${id}`,
    channel_id: '700000000000000001',
    user: { id: '42', username: 'ada', global_name: 'Ada Lovelace' },
    data: { name: 'ask', options: [{ name: 'text', value: text }] },
    ...changes,
  }
}

const inServer = { guild_id: '800', user: undefined, member: { nick: 'Countess', user: { id: '42', username: 'ada' } } }

export const fixtures: AdapterFixtures = {
  definition: discordChannel,
  connection: { tenant: 'default', id: 'default', agent: 'demo', domain: 'parley.localhost' },
  now,
  settings: (vendorOrigin) => ({ applicationId, publicKey: own.publicKey, botToken, apiRoot: vendorOrigin }),
  secrets: { botToken },
  environment: {
    DISCORD_APPLICATION_ID: applicationId,
    DISCORD_PUBLIC_KEY: own.publicKey,
    DISCORD_BOT_TOKEN: botToken,
  },
  async sign(bytes, { key, at = now } = {}): Promise<RawRequest> {
    const { privateKey } = key === 'wrong' ? other : own
    return { bytes, headers: await signedHeaders(privateKey, bytes, at), receivedAt, from: 'remote' }
  },
  credentialHeaders: ['x-signature-ed25519', 'x-signature-timestamp'],
  captured: [
    twin(slashCommand('1001', 'hello'), { text: 'hello', name: 'Ada Lovelace', isPrivate: true }),
    twin(slashCommand('1002', 'and again'), { text: 'and again', name: 'Ada Lovelace', isPrivate: true }),
    twin(JSON.parse(JSON.stringify(slashCommand('1003', 'in a room', inServer))), {
      text: 'in a room',
      name: 'Countess',
      isPrivate: false,
    }),
    twin(slashCommand('1004', '', { data: { name: 'stop' } }), {
      text: '/stop',
      name: 'Ada Lovelace',
      isPrivate: true,
    }),
  ],
  own: [slashCommand('1005', 'of the bot', { user: { id: applicationId, username: 'bot', bot: true } })],
  handshake: {
    payload: { id: '1', application_id: applicationId, type: 1, token: 'x' },
    answer: { status: 200, headers: { 'content-type': 'application/json' }, body: '{"type":1}' },
  },
  replyTo: { channel_id: '700000000000000001', reply_to_token: 'token-of-1001' },
  textOf: ({ body }) => (body as Call['body']).content.replace(/\\([\\*_~`|<>[\]()#@:-])/g, '$1'),
  hostile: ['@everyone <@42>', '# big\n> quote'].map((said) => ({
    said,
    isInert: (calls) =>
      calls.every(({ body }) => {
        const { content, allowed_mentions: allowed } = body as Call['body']
        return allowed.parse.length === 0 && !/(^|[^\\])[@#<>]/m.test(content)
      }),
  })),
  vendor: {
    success: { status: 200, body: '{"id":"5001"}' },
    rateLimit: { status: 429, body: '{"retry_after":2}', headers: { 'retry-after': '2' } },
    serverFault: { status: 503, body: '{}' },
    refusal: { status: 404, body: '{"message":"Unknown Webhook"}' },
    ambiguous: 'unknown',
  },
  skips: {
    'deliver: the idempotency key is the same on every try':
      'the platform takes no key; what may have arrived is not repeated',
    'verb: reconcile finds what arrived and misses what did not': 'a webhook cannot be asked what it posted',
    'verb: openFile gives the bytes, or says why not, and never how it asked':
      'slash commands of this example carry no files',
    'deliver: a file is one upload, and none where there is nothing to upload':
      'replies of this example carry no files',
  },
}

type Said = { readonly text: string; readonly name: string; readonly isPrivate: boolean }

/** What normalize makes of it. */
function twin(payload: ReturnType<typeof slashCommand>, { text, name, isPrivate }: Said) {
  const { id, channel_id, token } = payload
  const identity = {
    subject: 'discord:42',
    issuer: 'parley.localhost',
    method: 'urn:gw:auth:discord-interaction:v1',
    assurance: 'platform',
    audience: '@demo@parley.localhost',
    issued_at: receivedAt,
    proof: { type: 'transport', verified_by: 'parley' },
  }
  const message = {
    id,
    thread_id: channel_id,
    sender: {
      address: '@42@discord.parley.localhost',
      auth_method: 'discord-ed25519',
      display_name: name,
      verified: true,
      identities: [identity],
    },
    recipient: '@demo@parley.localhost',
    parts: [{ kind: 'text', mime: 'text/plain', content: text }],
    recipient_capabilities: {
      mention_relay: { kind: 'none' },
      rendering: { max_text_chars: 2000, streaming: 'none', files: false, buttons: false },
    },
    received_via: 'discord',
    received_at: receivedAt,
    channel: {
      connector_id: 'default',
      external_provider: 'discord',
      external_conversation_id: channel_id,
      external_message_id: id,
      sender_id: '42',
      room_kind: isPrivate ? 'dm' : 'channel',
      from_self: false,
      addressed: isPrivate ? 'dm' : 'mention',
      visibility: isPrivate ? 'direct' : 'private',
      mentions: [],
      event: 'new',
    },
  }
  const arrived = {
    kind: 'message',
    agent: 'demo',
    semanticId: id,
    version: '0',
    isSenderChosenId: false,
    deliveryId: id,
    subject: 'discord:42',
    thread: { candidates: [channel_id], platformVerified: true, newThreadKey: channel_id },
    replyTo: { channel_id, reply_to_token: token },
    mustReplyIndividually: 'command',
    message,
  }
  return { name: id, payload, arrived: [arrived] }
}
