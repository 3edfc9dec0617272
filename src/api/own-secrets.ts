// Keys and tokens that this gateway generated for itself: what each protects, how old it is, and its rotation.

import type { Resealed } from '../db/reseal.ts'
import { GatewayError } from '../lib/errors.ts'

/** Every kind there is. Keys of channels are called `connection#name`, by the name they are kept under. */
export const secretKinds = [
  {
    kind: 'sealing-key',
    protects: 'all of the others at rest, and credentials of installed apps',
    old: 'opens what it sealed; every row is sealed anew',
  },
  { kind: 'file-handles', protects: 'signed URLs of files', old: 'counts for an hour, longer than any URL' },
  {
    kind: 'attestations',
    protects: 'what agents elsewhere are told about who speaks',
    old: 'shown on the card for two days',
  },
  {
    kind: 'card',
    protects: 'signatures of agent cards and push notifications',
    old: 'shown among the keys for two days',
  },
  { kind: 'reply-token', protects: 'threads and hops in mail addresses and headers', old: 'read for 400 days' },
  { kind: 'speaker-marks', protects: 'lines that tell a model who speaks', old: 'nothing needs it' },
  {
    kind: 'actor',
    protects: 'signatures of an agent that is an account elsewhere',
    old: 'its key for proofs is shown for two days',
  },
  { kind: 'admin-token', protects: 'the operator’s routes', old: 'ends at once' },
] as const

export type SecretKind = (typeof secretKinds)[number]['kind']

export type SecretLine = {
  readonly name: string
  readonly kind: SecretKind
  readonly protects: string
  /** What becomes of the one before when there is a new one. */
  readonly old: string
  /** Where it is kept. */
  readonly place: string
  /** Null: not known, or made when it is first needed. */
  readonly since: string | null
  /** False: it is set by a variable, and changed there. */
  readonly isRotated: boolean
}

export type RotatedSecret = {
  readonly name: string
  /** A token that only its holder knows; shown this once. */
  readonly token?: string
  /** What is left for the operator to do. */
  readonly note?: string
}

export interface SecretService {
  list(): Promise<readonly SecretLine[]>
  rotate(name: string, actor: string): Promise<RotatedSecret>
  /** Seals anew what an older key sealed, for some seconds. */
  reseal(): Promise<Resealed>
}

export type SecretSources = {
  readonly sealingKey: {
    readonly isConfigured: boolean
    readonly since: () => Promise<string | null>
    readonly add: () => Promise<void>
  }
  readonly adminToken: {
    readonly isConfigured: boolean
    readonly since: () => Promise<string | null>
    readonly replace: () => Promise<string>
  }
  readonly fileHandles: {
    readonly since: () => Promise<string | null>
    readonly rotate: (actor: string) => Promise<void>
  }
  readonly ownKeys: {
    readonly list: () => Promise<readonly OwnKeyLine[]>
    /** False: there is none of that name. */
    readonly markStale: (connection: string, name: string) => Promise<boolean>
  }
  readonly reseal: () => Promise<Resealed>
}

export type OwnKeyLine = { readonly connection: string; readonly name: string; readonly since: string }

export function createSecretService(places: SecretSources): SecretService {
  const { sealingKey, adminToken, fileHandles, ownKeys } = places
  return {
    reseal: places.reseal,
    async list() {
      const own = newestKeyPerConnectionAndName(await ownKeys.list())
      return [
        toSecretListItem(
          'sealing-key',
          secretSourceText(sealingKey, 'PARLEY_SEAL_KEY', 'seal-key in the data folder'),
          await sealingKey.since(),
          !sealingKey.isConfigured,
        ),
        toSecretListItem('file-handles', 'the database, sealed', await fileHandles.since(), true),
        ...own.map(({ connection, name, kind, since }) => ({
          ...toSecretListItem(kind, 'the database, sealed', since, true),
          name: `${connection}#${name}`,
        })),
        toSecretListItem(
          'admin-token',
          secretSourceText(adminToken, 'PARLEY_ADMIN_TOKEN', 'admin-token in the data folder'),
          await adminToken.since(),
          !adminToken.isConfigured,
        ),
      ]
    },
    async rotate(name, actor) {
      if (name === 'sealing-key') {
        if (!sealingKey.isConfigured) await sealingKey.add()
        const note = sealingKey.isConfigured
          ? 'PARLEY_SEAL_KEY is set: put a new key before the old one on every replica (new,old), restart them, then run this again'
          : undefined
        return { name, ...(note === undefined ? {} : { note }) }
      }
      if (name === 'file-handles') {
        await fileHandles.rotate(actor)
        return { name }
      }
      if (name === 'admin-token') {
        if (adminToken.isConfigured)
          throw new GatewayError('bad_request', 'PARLEY_ADMIN_TOKEN is set: change it there and restart every replica')
        return { name, token: await adminToken.replace() }
      }
      const [connection = '', ...rest] = name.split('#')
      const kind = secretKindOfKeyName(rest.join('#'))
      if (kind === undefined || kind === 'actor' || !(await ownKeys.markStale(connection, rest.join('#'))))
        throw new GatewayError('not_found', 'there is no such key here; list them with parley secrets list')
      return { name }
    },
  }
}

function toSecretListItem(kind: SecretKind, place: string, since: string | null, isRotated: boolean): SecretLine {
  const { protects, old } = secretKinds.find((each) => each.kind === kind) ?? { protects: '', old: '' }
  return { name: kind, kind, protects, old, place, since, isRotated }
}

function secretSourceText(
  { isConfigured }: { readonly isConfigured: boolean },
  variable: string,
  file: string,
): string {
  return isConfigured ? variable : file
}

function secretKindOfKeyName(name: string): SecretKind | undefined {
  if (/^(rsa|ed25519):/.test(name)) return 'actor'
  return secretKinds.find(({ kind }) => kind === name)?.kind
}

/** An actor has two keys of each generation: `agent:slug` or `instance` stands for them, with the age of the newest. */
function newestKeyPerConnectionAndName(
  keys: readonly OwnKeyLine[],
): readonly (OwnKeyLine & { readonly kind: SecretKind })[] {
  const found = new Map<string, OwnKeyLine & { readonly kind: SecretKind }>()
  for (const key of keys) {
    const kind = secretKindOfKeyName(key.name)
    if (kind === undefined) continue
    const name = kind === 'actor' ? key.name.replace(/^\w+:/, '').replace(/:\d+$/, '') : key.name
    const known = found.get(`${key.connection}#${name}`)
    if (known === undefined || known.since < key.since) found.set(`${key.connection}#${name}`, { ...key, name, kind })
  }
  return [...found.values()]
}
