// Our own keys: RSA for signatures of requests, Ed25519 for proofs. Made at first use, sealed at rest, the same for every replica.
import type { ChannelDeps, Records, RecordWrite } from '../../../src/contract/index.ts'
import { encodeBase64, GatewayError } from '../../../src/lib/index.ts'
import { ownFamilies } from '../wire/records.ts'
import { toBase58 } from './key-material.ts'

/** `name`: `agent:{slug}`, or `instance`. */
export type KeyOwner = { readonly name: string; readonly actor: string }

export type ActorKey = {
  /** Address of the key. */
  readonly id: string
  readonly privateKey: CryptoKey
  readonly publicKey: CryptoKey
}

export type KeyRing = {
  readonly rsa: ActorKey & { readonly pem: string }
  readonly ed25519: ActorKey & { readonly multibase: string }
  /** The key for proofs before this one, for as long as another server may still check by it. Requests are checked when they come. */
  readonly former: KeyRing['ed25519'] | undefined
}

/** What has to be stored so that every process uses new keys, and the keys as they are then. */
export type Rotation = {
  /** How often there were new keys, the first ones included. */
  readonly generation: number
  /** When the keys of now were made; 0: they are the first ones. */
  readonly sinceMs: number
  readonly effect: RecordWrite
  readonly ring: KeyRing
}

export type ActorKeys = {
  of(owner: KeyOwner): Promise<KeyRing>
  /** New keys, once its effect is committed; the old one for proofs stays in the actor's document for a while. */
  rotation(owner: KeyOwner): Promise<Rotation>
}

export type ActorKeysDeps = {
  readonly ownKeys: Pick<NonNullable<ChannelDeps['ownKeys']>, 'keep'>
  readonly records: Records
  readonly now: () => number
}

/** Longer than others keep a document, and than a server takes that checks later what it accepted. */
const overlapMs = 48 * 60 * 60 * 1000

type Generation = { readonly number: number; readonly sinceMs: number }

export function createActorKeys(deps: ActorKeysDeps): ActorKeys {
  const { records, now } = deps
  const pairs = createKeyPairSource(deps)
  // Asked every time: a server that sees a signature by new keys must find them with every process at once.
  const readKeyGeneration = async ({ name }: KeyOwner): Promise<Generation> => {
    const record = await records.get(ownFamilies.keys, name)
    return { number: Number(record?.['generation'] ?? 1), sinceMs: Number(record?.['since_ms'] ?? 0) }
  }
  const readProofKey = async (owner: KeyOwner, number: number) => addMultibase(await pairs(owner, 'ed25519', number))
  const loadKeyRing = async (owner: KeyOwner, { number, sinceMs }: Generation): Promise<KeyRing> => {
    const isFormerShown = number > 1 && now() - sinceMs < overlapMs
    const [rsa, ed25519, former] = await Promise.all([
      pairs(owner, 'rsa', number).then(addPem),
      readProofKey(owner, number),
      isFormerShown ? readProofKey(owner, number - 1) : undefined,
    ])
    return { rsa, ed25519, former }
  }
  return {
    of: async (owner) => loadKeyRing(owner, await readKeyGeneration(owner)),
    async rotation(owner) {
      const { number, sinceMs } = await readKeyGeneration(owner)
      const next = { number: number + 1, sinceMs: now() }
      const value = { generation: next.number, since_ms: next.sinceMs }
      const effect: RecordWrite = { kind: 'put', family: ownFamilies.keys, key: owner.name, value }
      return { generation: next.number, sinceMs, effect, ring: await loadKeyRing(owner, next) }
    },
  }
}

type Algorithm = 'rsa' | 'ed25519'

const algorithms = {
  rsa: { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' },
  ed25519: { name: 'Ed25519' },
} as const
const idNames = { rsa: 'main-key', ed25519: 'ed25519-key' } as const

type Pairs = (owner: KeyOwner, algorithm: Algorithm, generation: number) => Promise<ActorKey>

function createKeyPairSource({ ownKeys }: ActorKeysDeps): Pairs {
  const known = new Map<string, Promise<ActorKey>>()
  return (owner, algorithm, generation) => {
    const name = `${algorithm}:${owner.name}:${generation}`
    const before = known.get(name)
    if (before !== undefined) return before
    const suffix = generation === 1 ? '' : `-${generation}`
    const id = `${owner.actor}#${idNames[algorithm]}${suffix}`
    const opened = loadOrMakeOwnKey(ownKeys, name, algorithm).then((pair) => ({ id, ...pair }))
    known.set(name, opened)
    // What failed is tried again by the next caller.
    opened.catch(() => known.delete(name))
    return opened
  }
}

async function loadOrMakeOwnKey(
  ownKeys: ActorKeysDeps['ownKeys'],
  name: string,
  algorithm: Algorithm,
): Promise<Omit<ActorKey, 'id'>> {
  const text = await ownKeys.keep(name, () => makeKeyPairJson(algorithm))
  if (text === undefined)
    throw new GatewayError(
      'config_invalid',
      '[activitypub] there is nothing to seal our keys with; set PARLEY_SEAL_KEY (openssl rand -hex 32)',
    )
  const { publicJwk, privateJwk } = JSON.parse(text) as Record<'publicJwk' | 'privateJwk', JsonWebKey>
  const how = algorithms[algorithm]
  return {
    publicKey: await crypto.subtle.importKey('jwk', publicJwk, how, true, ['verify']),
    privateKey: await crypto.subtle.importKey('jwk', privateJwk, how, true, ['sign']),
  }
}

async function makeKeyPairJson(algorithm: Algorithm): Promise<string> {
  const size = { modulusLength: 2048, publicExponent: Uint8Array.from([1, 0, 1]) }
  const how = algorithm === 'rsa' ? { ...algorithms.rsa, ...size } : algorithms.ed25519
  // Both algorithms make pairs; the platform's types also know some that do not.
  const { publicKey, privateKey } = (await crypto.subtle.generateKey(how, true, ['sign', 'verify'])) as CryptoKeyPair
  const [publicJwk, privateJwk] = await Promise.all(
    [publicKey, privateKey].map((key) => crypto.subtle.exportKey('jwk', key)),
  )
  return JSON.stringify({ publicJwk, privateJwk })
}

/** In these forms keys are bytes; the platform's types do not always say so. */
async function exportKeyBytes(form: 'spki' | 'raw', key: CryptoKey): Promise<Uint8Array> {
  return new Uint8Array((await crypto.subtle.exportKey(form, key)) as ArrayBuffer)
}

async function addPem(key: ActorKey): Promise<ActorKey & { readonly pem: string }> {
  const spki = encodeBase64(await exportKeyBytes('spki', key.publicKey))
  const lines = spki.match(/.{1,64}/g) ?? []
  return { ...key, pem: ['-----BEGIN PUBLIC KEY-----', ...lines, '-----END PUBLIC KEY-----', ''].join('\n') }
}

async function addMultibase(key: ActorKey): Promise<ActorKey & { readonly multibase: string }> {
  const raw = await exportKeyBytes('raw', key.publicKey)
  // Multicodec ed25519-pub, in base58btc.
  return { ...key, multibase: `z${toBase58(Uint8Array.from([0xed, 0x01, ...raw]))}` }
}
