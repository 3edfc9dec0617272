// The gateway's own keys on this machine: those of the data folder as files, the others as rows.
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { createSecretService, type OwnKeyLine, type SecretService } from '../api/own-secrets.ts'
import { createSeal } from '../assemble/seal.ts'
import type { Config } from '../config.ts'
import type { Database } from '../db/client.ts'
import { listOwnKeys, markOwnKeyStale, signingKeyAge } from '../db/own-secrets.ts'
import { resealEverySecret } from '../db/reseal.ts'
import { replaceAdminToken } from './admin-token.ts'
import { addSealKey, readSealKeys, sealKeyPath } from './seal-key.ts'

/** Shorter than a caller waits; the next call goes on. */
const resealMs = 15_000

export function createGatewaySecrets(
  { tenant, dataDir, sealKeys, adminToken }: Config,
  database: Database,
  rotateHandles: (actor: string) => Promise<void>,
): SecretService {
  const seal = createSeal(() => readSealKeys(sealKeys, dataDir))
  const fileModifiedAt = (path: string) => async (): Promise<string | null> =>
    (await stat(path).catch(() => undefined))?.mtime.toISOString() ?? null
  return createSecretService({
    sealingKey: {
      isConfigured: sealKeys.length > 0,
      since: fileModifiedAt(sealKeyPath(dataDir)),
      add: () => addSealKey(dataDir),
    },
    adminToken: {
      isConfigured: adminToken !== undefined,
      since: fileModifiedAt(join(dataDir, 'admin-token')),
      replace: () => replaceAdminToken(dataDir),
    },
    fileHandles: {
      since: async () => (await database.query<{ since: string }>(signingKeyAge, [tenant]))[0]?.since ?? null,
      rotate: rotateHandles,
    },
    ownKeys: {
      list: () => database.query<OwnKeyLine>(listOwnKeys, [tenant]),
      markStale: async (connection, name) =>
        (await database.query(markOwnKeyStale, [tenant, connection, name])).length > 0,
    },
    reseal: () => resealEverySecret(database, { tenant, seal, now: Date.now, maxMs: resealMs }),
  })
}
