// Whether messages could be stored now, found out by writing.
import { isGatewayError } from '../contract/index.ts'
import type { Database } from './database.ts'
import { probe, probeRoom } from './statements/probe.ts'

/** Throws with the statement and its SQLSTATE where nothing can be stored. */
export async function probeStorage({ accepting }: Pick<Database, 'accepting'>, tenant: string): Promise<void> {
  await accepting.query(probe, [tenant])
  await accepting.query(probeRoom, []).catch((error: unknown) => {
    // 53400: temp_file_limit allows no such file, which says nothing about the disk.
    if (!isGatewayError(error) || error.details['sqlstate'] !== '53400') throw error
  })
}
