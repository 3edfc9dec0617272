// How much room the disk of the data folder must have left: a section of the configuration file.
import * as z from 'zod'

export type DiskSettings = {
  /** Below this nothing of people who are not admitted is stored. Without it: 512 MB, or 5 % of a smaller disk. */
  readonly lowBytes?: number
  /** Below this no mail and no file is taken from any sender. Without it: a quarter of `lowBytes`. */
  readonly fullBytes?: number
}

const byteCountSchema = z.number().int().min(0)
const diskSchema = z
  .strictObject({ lowBytes: byteCountSchema.optional(), fullBytes: byteCountSchema.optional() })
  .refine(({ lowBytes, fullBytes }) => lowBytes === undefined || (fullBytes ?? 0) <= lowBytes, {
    message: 'fullBytes must be at most lowBytes',
  })

export function readDiskSettings(given: DiskSettings = {}, problems: string[]): DiskSettings {
  const read = diskSchema.safeParse(given)
  for (const issue of read.error?.issues ?? []) problems.push(`disk.${issue.path.join('.')}: ${issue.message}`)
  return given
}
