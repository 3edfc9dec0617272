// Bodies of 1.5 MB that nobody signed, posted to an inbox over real connections: what turning one away costs, with its length told
// and without.
import { mkdtemp, rm } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Asked } from './arguments.ts'
import { activitypubPath } from './platforms/activitypub.ts'
import type { Say } from './scenario.ts'
import { startSubject } from './subject-process.ts'
import type { Verdict } from './summary.ts'

export type Flood = {
  readonly subject: string
  readonly bodies: number
  readonly cpuMsPerBody: number
  /** How often each status was answered; `cut` where the connection ended without one. */
  readonly answers: Readonly<Record<string, number>>
}

const bytes = 1_500_000
const bodies = 200
const atOnce = 8
const maxCpuMs = 5

export async function runFlood(asked: Asked, peopleUrl: string, say: Say): Promise<readonly Flood[]> {
  const dataDir = await mkdtemp(join(tmpdir(), 'parley-bench-flood-'))
  const settings = {
    kind: 'gateway',
    wire: 'activitypub',
    storage: 'nothing',
    drains: false,
    dataDir,
    peopleUrl,
  } as const
  const subject = await startSubject({ settings, profileFolder: asked.profileFolder })
  try {
    const floods: Flood[] = []
    for (const isLengthTold of [true, false]) {
      const name = isLengthTold ? 'flood, length told' : 'flood, chunked'
      say(name)
      // The first ones compile the code.
      await pour(subject.port, bodies / 2, isLengthTold)
      const before = await subject.figures()
      const answers = await pour(subject.port, bodies, isLengthTold)
      const after = await subject.figures()
      const cpuMsPerBody = (after.cpuMicros - before.cpuMicros) / 1000 / bodies
      floods.push({ subject: name, bodies, cpuMsPerBody, answers })
    }
    return floods
  } finally {
    await subject.stop()
    await rm(dataDir, { recursive: true, force: true })
  }
}

async function pour(port: number, count: number, isLengthTold: boolean): Promise<Readonly<Record<string, number>>> {
  const body = Buffer.alloc(bytes, '{"a":"')
  const answers: Record<string, number> = {}
  let left = count
  const worker = async (): Promise<void> => {
    while (left > 0) {
      left -= 1
      const answer = await post(port, body, isLengthTold)
      answers[answer] = (answers[answer] ?? 0) + 1
    }
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
  return answers
}

function post(port: number, body: Buffer, isLengthTold: boolean): Promise<string> {
  const length = isLengthTold ? { 'content-length': String(body.length) } : { 'transfer-encoding': 'chunked' }
  const headers = { 'content-type': 'application/activity+json', ...length }
  return new Promise((resolve) => {
    const sending = request({ host: '127.0.0.1', port, path: activitypubPath, method: 'POST', headers, agent: false })
    let status = 'cut'
    sending.on('response', (response) => {
      status = String(response.statusCode)
      response.resume()
    })
    // Whoever is turned away early finds the connection closed while it still writes.
    sending.on('error', () => {})
    sending.on('close', () => resolve(status))
    sending.end(body)
  })
}

export function floodTable(floods: readonly Flood[]): string {
  return floods
    .map(({ subject, bodies, cpuMsPerBody, answers }) => {
      const told = Object.entries(answers).map(([status, count]) => `${count} x ${status}`)
      return `${subject}: ${bodies} unsigned bodies of 1.5 MB, ${cpuMsPerBody.toFixed(2)} ms CPU each, ${told.join(', ')}`
    })
    .join('\n')
}

export function judgeFlood(floods: readonly Flood[]): readonly Verdict[] {
  return floods.map(({ subject, cpuMsPerBody: value }) => {
    return { subject, measure: 'CPU ms per unsigned body', value, aim: maxCpuMs, isMet: value < maxCpuMs }
  })
}
