// However a mail is made, reading it takes less than a second of the processor and less than 150 MB beside its own bytes.
import { execFile } from 'node:child_process'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { hostileMails } from './hostile-mails.ts'
import type { Measured } from './measure.ts'

const script = fileURLToPath(new URL('./measure.ts', import.meta.url))

async function measure(at: number): Promise<Measured> {
  const { stdout } = await promisify(execFile)(process.execPath, [script, String(at)], { timeout: 60_000 })
  return JSON.parse(stdout) as Measured
}

describe('a hostile mail is read or refused within bounds', () => {
  // Each in a process of its own, so that none has the memory of another; the processor's time counts, so they may overlap.
  test.concurrent.each(hostileMails.map(({ name, expected }, at) => ({ name, expected, at })))(
    '$name: $expected',
    async ({ expected, at }) => {
      const { outcome, cpuMs, extraMb } = await measure(at)
      expect(outcome).toBe(expected)
      expect(cpuMs).toBeLessThan(1_000)
      expect(extraMb).toBeLessThan(150)
    },
    60_000,
  )
})
