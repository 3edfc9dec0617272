// Where data lies, for how long, and who else could read it.
import { defaultRetention } from '../../db/retention.ts'
import { type ConfigFacts, isLoopbackHostName } from './facts.ts'
import type { Finding } from './finding.ts'

const secureModes: readonly (string | undefined)[] = ['require', 'verify-ca', 'verify-full']

export function storageFindings(facts: ConfigFacts): readonly Finding[] {
  const { databaseServer, retention, dataDirMode } = facts
  const found: Finding[] = []
  if (
    databaseServer !== undefined &&
    !isLocalDatabase(databaseServer.host) &&
    !secureModes.includes(databaseServer.sslMode)
  )
    found.push({
      id: 'AC-301',
      severity: 'critical',
      where: 'DATABASE_URL',
      weak: 'messages and the password of the database cross the network unencrypted',
      remedy: 'add ?sslmode=require, or better verify-full, to DATABASE_URL',
    })
  for (const name of ['contentDays', 'receiptDays', 'auditDays'] as const) {
    if (retention[name] > defaultRetention[name])
      found.push({
        id: 'AC-303',
        severity: 'info',
        where: `retention.${name}`,
        weak: `${retention[name]} days instead of ${defaultRetention[name]}`,
        remedy: 'keep it so if you have a reason to; what is not there cannot leak',
      })
  }
  // A group that may only pass through it is PostgreSQL's, where the gateway runs as root.
  if (dataDirMode !== undefined && (dataDirMode & 0o067) !== 0)
    found.push({
      id: 'AC-304',
      severity: 'critical',
      where: 'PARLEY_DATA_DIR',
      weak: `the folder with the database and the admin token is open to others (mode ${(dataDirMode & 0o777).toString(8)})`,
      remedy: 'chmod 700 it',
    })
  return found
}

/** A path is a socket on this machine. */
function isLocalDatabase(host: string): boolean {
  return host === '' || host.startsWith('/') || isLoopbackHostName(host)
}
