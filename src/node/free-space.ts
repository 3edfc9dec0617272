// How much room the disk of the data folder has left, and what there is still room for.
import { statfs } from 'node:fs/promises'
import type { Config } from '../config.ts'
import { cachePromise } from '../lib/cached-promise.ts'

/** `low`: nothing more of people who are not admitted. `full`: no mail and no file of any sender. Undefined: room for all. */
export type FreeSpace = 'low' | 'full' | undefined

/** Every arrival may ask; the disk is looked at no more often than this. */
const freshMs = 2_000
const usualLowBytes = 512 * 1024 * 1024
const usualLowShare = 0.05

type DiskConfig = Pick<Config, 'dataDir' | 'disk' | 'databaseUrl' | 'attachments'>

/** Undefined: neither rows nor files are kept on this disk. */
export function createFreeSpaceCheck(config: DiskConfig): (() => Promise<FreeSpace>) | undefined {
  if (config.databaseUrl !== undefined && config.attachments.store !== undefined) return undefined
  return cachePromise(
    freshMs,
    () => performance.now(),
    () => readFreeSpace(config),
  )
}

async function readFreeSpace({ dataDir, disk }: DiskConfig): Promise<FreeSpace> {
  // A disk that cannot be asked says nothing about its room; what is written there fails by itself.
  const facts = await statfs(dataDir).catch(() => undefined)
  if (facts === undefined) return undefined
  const free = facts.bavail * facts.bsize
  const lowBytes = disk.lowBytes ?? Math.min(usualLowBytes, facts.blocks * facts.bsize * usualLowShare)
  const fullBytes = disk.fullBytes ?? lowBytes / 4
  if (free < fullBytes) return 'full'
  return free < lowBytes ? 'low' : undefined
}
