// Threading: which conversation a mail asks to join, best guess first, and never by its subject. Accept lets it in only where its
// proven sender takes part already.

import type { ChannelDeps } from '../../src/contract/index.ts'
import { equalInConstantTime, GatewayError, randomHex, sha256Hex } from '../../src/lib/index.ts'
import type { MailHead } from './wire/mail.ts'

/** Ids that are looked at: a reference further away than these joins nothing. */
const maxIds = 32

export type MailThread = {
  /** The Message-ID, or one made from the bytes where it has none. */
  readonly id: string
  readonly key: string
  readonly candidates: readonly string[]
  /** What the conversation is called from now on, too. */
  readonly also: readonly string[]
}

type Ids = Pick<MailHead, 'inReplyTo' | 'references' | 'threadIndex'>

/** `id`: its own. `tokenKey`: of the reply token in the address it was sent to. */
export async function resolveThread(
  head: Ids,
  facts: { readonly id: string; readonly tokenKey: string | undefined; readonly tokens: ReplyTokens },
): Promise<MailThread> {
  const { id } = facts
  const key = await threadKey(id)
  const ids = [...new Set([...head.inReplyTo, ...head.references.toReversed()])].slice(0, maxIds)
  const ours = await Promise.all(ids.map((each) => keyFromOwnMessageId(facts.tokens, each)))
  const others = await Promise.all(ids.filter((_, at) => ours[at] === undefined).map(threadKey))
  const keys = [facts.tokenKey, ...ours, ...others].flatMap((each) => each ?? [])
  const outlook = head.threadIndex === undefined ? [] : [outlookThreadName(head.threadIndex)]
  // Outlook leaves References out on some paths, and any sender can copy an index: it is read only where there is nothing else.
  const hints = head.references.length === 0 ? outlook : []
  return {
    id,
    key,
    candidates: [...new Set([...keys.map(threadName), ...hints])],
    also: [threadName(key), ...outlook],
  }
}

/** Our Message-IDs begin with a token. The proof in it decides, whatever domain it is under: aliases and moves keep their threads. */
async function keyFromOwnMessageId(tokens: ReplyTokens, id: string): Promise<string | undefined> {
  return tokens.read(id.slice(0, id.search(/[.@]|$/)))
}

// Thread keys: a short hash of the id of a mail in the thread, so that ids of any length and shape make names of one kind.

const alphabet = 'abcdefghijklmnopqrstuvwxyz234567'

/** How many characters a key has, and how many the part has that proves it: 80 bits each. */
export const keyLength = 16

export async function threadKey(messageId: string): Promise<string> {
  return base32(bytesOfHex(await sha256Hex(messageId))).slice(0, keyLength)
}

/** The name under which accept finds the conversation that holds a mail. */
export function threadName(key: string): string {
  return `t:${key}`
}

/** The same for the conversation that Outlook says it belongs to. */
function outlookThreadName(threadIndex: string): string {
  return `x:${threadIndex}`
}

/** RFC 4648 section 6, in small letters and without padding: mail servers may change the case of a local part. */
export function base32(bytes: Uint8Array): string {
  let text = ''
  let held = 0
  let bits = 0
  for (const byte of bytes) {
    held = (held << 8) | byte
    bits += 8
    while (bits >= 5) {
      bits -= 5
      text += alphabet[(held >> bits) & 31]
    }
    held &= (1 << bits) - 1
  }
  return bits === 0 ? text : text + alphabet[(held << (5 - bits)) & 31]
}

function bytesOfHex(hex: string): Uint8Array {
  return Uint8Array.from({ length: hex.length / 2 }, (_, at) => Number.parseInt(hex.slice(at * 2, at * 2 + 2), 16))
}

// Reply tokens: a key of ours with a proof that we wrote it. They stand in addresses and in our Message-IDs. A person who was forwarded a
// mail has its token too, so a token says which thread is meant and never who may read it.

export interface ReplyTokens {
  mint(key: string): Promise<string>
  /** The key in a token of ours, however its case was changed. Undefined: we did not write it. */
  read(text: string): Promise<string | undefined>
}

const pattern = /^[a-z2-7]{32}$/i

/** What may be a token; whether it is one of ours takes `read`. */
export function isTokenShaped(text: string): boolean {
  return pattern.test(text)
}

/** Secrets are asked for every time: they are made when they are first needed, and may change. */
export function createReplyTokens(hmac: ChannelDeps['hmac'], { current, all }: MailSecrets): ReplyTokens {
  const computeTokenProof = async (key: string, secret: string): Promise<string> => {
    const bytes = new TextEncoder().encode(`reply-token ${key}`)
    return base32(await hmac.sha256(secret, bytes)).slice(0, keyLength)
  }
  return {
    mint: async (key) => key + (await computeTokenProof(key, await current())),
    async read(text) {
      if (!isTokenShaped(text)) return undefined
      const token = text.toLowerCase()
      const key = token.slice(0, keyLength)
      for (const secret of await all())
        if (equalInConstantTime(token.slice(keyLength), await computeTokenProof(key, secret))) return key
      return undefined
    },
  }
}

// One secret for tokens and for the signed count of agents.

type MailSecrets = {
  readonly current: () => Promise<string>
  /** Those before it as well, the newest first. */
  readonly all: () => Promise<readonly string[]>
}

/** People answer old mails: as long as a receipt is usually kept, and longer. */
const formerSecretsMs = 400 * 24 * 60 * 60 * 1000

/** Made once and the same for every replica: tokens in mails that went out long ago must still be read. */
export function createMailSecrets({ ownKeys }: Pick<ChannelDeps, 'ownKeys'>): MailSecrets {
  const randomMailSecret = (): string => randomHex(32)
  let lone: string | undefined
  const readKeyRing = async () => {
    if (ownKeys === undefined) {
      lone ??= randomMailSecret()
      return { signing: lone, all: [lone] }
    }
    const found = await ownKeys.ring('reply-token', async () => randomMailSecret(), formerSecretsMs)
    if (found !== undefined) return found
    throw new GatewayError(
      'config_invalid',
      '[email] there is no key to seal its secret with; set PARLEY_SEAL_KEY (openssl rand -hex 32)',
    )
  }
  return { current: async () => (await readKeyRing()).signing, all: async () => (await readKeyRing()).all }
}
