// The key that this gateway signs with when it tells remote agents who speaks: made once, sealed, the same for all replicas.
import { sealKeyBytes } from '../config/seal-keys.ts'
import type { Config } from '../config.ts'
import type { Database } from '../db/client.ts'
import { createOwnKeyStore } from '../db/own-keys.ts'
import { type Attestor, createAttestor, makeAttestationKey } from '../identity/attestor.ts'
import { createSeal, type SealKeys } from './seal.ts'

/** Longer than others keep the card they check by. */
const formerKeysMs = 48 * 60 * 60 * 1000

type OwnAttestorDeps = { readonly sealKeys?: SealKeys; readonly newId: () => string; readonly now: () => number }

export function createOwnAttestor(config: Config, database: Database, means: OwnAttestorDeps): Attestor {
  const { tenant, domain: issuer } = config
  const seal = createSeal(means.sealKeys ?? (async () => config.sealKeys.map(sealKeyBytes)))
  const keys = createOwnKeyStore(database, { tenant, connection: 'gateway', agent: '', seal })
  const readAttestationKeys = () => keys.ring('attestations', makeAttestationKey, formerKeysMs)
  return createAttestor({ issuer, readKeys: readAttestationKeys, newId: means.newId, now: means.now })
}
