// PostgreSQL's own log files: it begins a new one every day and every ten megabytes; we keep the newest few.
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'

const kept = 7

export async function trimLogs(folder: string): Promise<void> {
  const logs = join(folder, 'log')
  // Their names are their times.
  const names = (await readdir(logs).catch(() => [])).filter((name) => name.startsWith('postgres-')).sort()
  for (const name of names.slice(0, -kept)) await rm(join(logs, name), { force: true })
}
