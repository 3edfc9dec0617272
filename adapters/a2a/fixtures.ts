// Fixtures of A2A for the adapter kit: messages from this machine and with a token, and payloads with their twins; there is no
// vendor, and the answers of its own paths are tested in test/conformance/a2a.
import type { CallerResult, JsonObject, RawRequest } from '../../src/contract/index.ts'
import { partsText } from '../../src/markdown/index.ts'
import bearer from './fixtures/bearer.json' with { type: 'json' }
import everyPart from './fixtures/every-part.json' with { type: 'json' }
import followUp from './fixtures/follow-up.json' with { type: 'json' }
import plainText from './fixtures/plain-text.json' with { type: 'json' }
import toolEvents from './fixtures/tool-events.json' with { type: 'json' }
import { a2aChannel } from './index.ts'

const now = Date.parse('2026-11-17T12:00:00.000Z')
const noVendor = 'a reply is an append to the log of its task, no vendor is called'
const noKey = 'there is no key: being on this machine is the credential'

function sign(bytes: Uint8Array, how: { readonly key?: 'wrong' } = {}): RawRequest {
  return {
    bytes,
    headers: { 'content-type': 'application/json' },
    receivedAt: new Date(now).toISOString(),
    from: how.key === 'wrong' ? 'remote' : 'local',
  }
}

function textOf(call: JsonObject): string {
  const event = call['event']
  const response = typeof event === 'object' && event !== null && 'response' in event ? event.response : undefined
  const parts = typeof response === 'object' && response !== null && 'parts' in response ? response.parts : undefined
  return Array.isArray(parts) ? partsText(parts) : ''
}

export const fixtures = {
  definition: a2aChannel,
  connection: { tenant: 'default', id: 'default', agent: 'demo', domain: 'parley.localhost' },
  now,
  settings: () => ({}),
  secrets: {},
  environment: {},
  sign,
  credentialHeaders: ['content-type'],
  captured: [
    { name: 'plain text', ...plainText },
    { name: 'every kind of part', ...everyPart },
    { name: 'a task that goes on', ...followUp },
    { name: 'tool events', ...toolEvents },
  ],
  subjectPrefixes: ['gw:user/'],
  own: [],
  publicUrl: 'https://gw.example',
  replyTo: { contextId: 'ctx-1' },
  textOf,
  hostile: [
    {
      said: '</script><b>@admin</b>',
      // JSON is the only markup here, and the text is one string in it.
      isInert: (calls: readonly JsonObject[]) => calls.map(textOf).join('') === '</script><b>@admin</b>',
    },
  ],
  skips: {
    'verify: rejects one changed byte': noKey,
    'verify: rejects an old timestamp': noKey,
    'verify: rejects a future timestamp': noKey,
    'verify: answers the handshake': 'the protocol has no handshake',
    'config: leaving out any secret fails at start': 'no setting is a secret that has to be there',
    'config: an incomplete environment names what is missing': 'the channel is on unless told otherwise',
    'normalize: the agent’s own messages vanish': 'messages with the role of an agent are refused, see SE-04',
    'deliver: success is delivered': `${noVendor}; test/conformance/a2a covers the append`,
    'deliver: a rate limit is a retry with its delay': noVendor,
    'deliver: a server fault is never called delivered or refused': noVendor,
    'deliver: a refusal is final': noVendor,
    'deliver: a time-out is settled by what repeating would do': noVendor,
    'deliver: nothing but the vendor is contacted': noVendor,
    'verb: reconcile finds what arrived and misses what did not': 'appends carry their key, nothing is ever unknown',
    'verb: acknowledge answers every acceptance': 'the channel answers its requests itself',
    'verb: openFile gives the bytes, or says why not, and never how it asked': 'files come by address or inline',
    'deliver: a file is one upload, and none where there is nothing to upload': noVendor,
  },
}

const token = 'Bearer parley_89abcdef_0000000000000000000000000000000000000000000'
const [asBearer] = bearer.arrived

function signWithToken(bytes: Uint8Array, how: { readonly key?: 'wrong' } = {}): RawRequest {
  const authorization = how.key === 'wrong' ? `${token.slice(0, -1)}1` : token
  const headers = { 'content-type': 'application/json', authorization }
  return { bytes, headers, receivedAt: new Date(now).toISOString(), from: 'remote' }
}

/** One token, and a chain that comes with it; how the real token service reads headers is tested with that service. */
async function identify({ authorization }: Readonly<Record<string, string>>): Promise<CallerResult> {
  if (authorization === undefined)
    return { kind: 'identified', bearer: undefined, caller: undefined, agentChain: undefined }
  if (authorization !== token || asBearer === undefined) return { kind: 'rejected', reason: 'invalid_token' }
  const { sender, channel, recipient_capabilities } = asBearer.message
  const claims = sender.identities[0]?.claims ?? {}
  return {
    kind: 'identified',
    bearer: { tokenId: sender.key_id, subject: asBearer.subject, agent: null, claims },
    caller: channel.caller,
    agentChain: recipient_capabilities.agent_chain,
  }
}

/** The same words from a holder of the token. */
function fromBearer({ name, payload, arrived }: (typeof fixtures.captured)[number]): typeof bearer & { name: string } {
  const twins = arrived.map((each) => {
    const { sender, recipient_capabilities, channel } = asBearer?.message ?? {}
    const own = { ...each.message.channel, sender_id: channel?.sender_id, caller: channel?.caller }
    const message = { ...each.message, sender, recipient_capabilities, channel: own }
    return { ...each, subject: asBearer?.subject, message }
  })
  // Twins differ in what was said; the kit compares them as the JSON they are.
  return { name, payload, arrived: twins } as unknown as typeof bearer & { name: string }
}

/** Remote callers, by token. */
export const variants = [
  {
    ...fixtures,
    variant: 'with a token',
    sign: signWithToken,
    callers: { identify, challenge: () => 'Bearer' },
    credentialHeaders: ['content-type', 'authorization'],
    captured: [{ name: 'with a chain of agents', ...bearer }, ...fixtures.captured.map(fromBearer)],
    subjectPrefixes: ['gw:token/'],
  },
]
