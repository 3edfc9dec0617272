// Weak settings of a gateway on this machine: its configuration, its data folder, its tokens.
import { stat } from 'node:fs/promises'
import { auditConfig } from '../api/audit-config/audit-config.ts'
import { readConfigFacts } from '../api/audit-config/facts.ts'
import type { Finding } from '../api/audit-config/finding.ts'
import type { Config } from '../config.ts'
import type { TokenLine } from '../db/tokens.ts'
import type { PublicUrlHealth } from '../observability/readiness.ts'

/** `tokens`, `publicUrlFound` undefined: no gateway runs that could look, so nothing is said about them. */
export async function auditGatewayConfig(
  config: Config,
  tokens: readonly TokenLine[] | undefined,
  publicUrlFound?: PublicUrlHealth,
): Promise<readonly Finding[]> {
  const folder = await stat(config.dataDir).catch(() => undefined)
  // The first token is made at the first start, whatever else is set.
  const around = { now: Date.now(), tokens, dataDirMode: folder?.mode, hasFirstToken: true, publicUrlFound }
  return auditConfig(readConfigFacts(config, around))
}
