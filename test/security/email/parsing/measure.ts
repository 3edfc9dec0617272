// A process of its own that reads one hostile mail and says what that took: `node measure.ts <number of the mail>`.
import { readFileSync, writeFileSync } from 'node:fs'
import process from 'node:process'
import { openMimePart } from '../../../../adapters/email/mime/files.ts'
import { parseMailBody } from '../../../../adapters/email/mime/parse-body.ts'
import { findHeadEnd } from '../../../../adapters/email/mime/part-head.ts'
import { hostileMails } from './hostile-mails.ts'

export type Measured = {
  readonly outcome: string
  readonly cpuMs: number
  readonly extraMb: number
  readonly files: number
}

const headOf = (raw: Uint8Array) => ({ bodyStart: findHeadEnd(raw, 0, raw.length).bodyStart })

// Libraries are loaded at their first use, once in the life of a process; that is not what is measured.
await read(new TextEncoder().encode('Content-Transfer-Encoding: base64\r\n\r\naGVsbG8='))
const raw = hostileMails[Number(process.argv[2])]?.build()
if (raw === undefined) throw new Error('there is no such mail')
const before = process.cpuUsage()
forgetPeak()
const memory = process.memoryUsage.rss()
const { outcome, files } = await read(raw)
const { user, system } = process.cpuUsage(before)
const peak = peakBytes()
const measured: Measured = { outcome, files, cpuMs: (user + system) / 1000, extraMb: (peak - memory) / 1024 / 1024 }
process.stdout.write(JSON.stringify(measured))

/** And every file is opened and read to its end, as the attachment store does. */
async function read(bytes: Uint8Array): Promise<{ outcome: string; files: number }> {
  const body = await parseMailBody(bytes, headOf(bytes))
  if ('kind' in body) return { outcome: body.reason, files: 0 }
  for (const { index } of body.files.slice(0, 1)) {
    const part = await openMimePart(bytes, index)
    for await (const piece of part?.body ?? []) if (piece.length === 0) break
  }
  return { outcome: 'read', files: body.files.length }
}

/** What building the mail took is not what reading it takes. Only Linux forgets. */
function forgetPeak(): void {
  if (process.platform === 'linux') writeFileSync('/proc/self/clear_refs', '5')
}

/** On Linux `maxRSS` begins with that of whoever started us, which may have been much larger. */
function peakBytes(): number {
  if (process.platform !== 'linux') return process.resourceUsage().maxRSS * 1024
  const [, kilobytes] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? []
  return Number(kilobytes) * 1024
}
