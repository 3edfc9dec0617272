// One subject in its own process: says when it is ready, tells its figures when asked, and goes with its driver.

import {
  type FromSubject,
  type Subject,
  type SubjectSettings,
  settingsVariable,
  type ToSubject,
} from './subject-settings.ts'
import { startFloor } from './subjects/floor.ts'
import { startGateway } from './subjects/gateway.ts'
import { startReference, startRival } from './subjects/rival.ts'

// The driver wrote this very type into the variable.
const settings = JSON.parse(process.env[settingsVariable] ?? '') as SubjectSettings

function tell(message: FromSubject): void {
  process.send?.(message)
}

function tellFigures(subject: Subject): void {
  // All threads of the process: what the collector and the thread pool do for a request belongs to it.
  const { user, system } = process.cpuUsage()
  const statements = Object.fromEntries(subject.statements)
  const figures = {
    cpuMicros: user + system,
    rssBytes: process.memoryUsage.rss(),
    statements,
    sends: subject.sends(),
    handled: subject.handled?.() ?? 0,
  }
  tell({ type: 'figures', figures })
}

function start(): Promise<Subject> {
  switch (settings.kind) {
    case 'floor':
      return startFloor()
    case 'rival':
      return startRival(settings)
    case 'reference':
      return startReference(settings)
    case 'gateway':
      return startGateway(settings)
  }
}

async function main(): Promise<void> {
  // From the first moment on: nobody would ever end a subject that comes up without its driver.
  process.on('disconnect', () => process.exit(1))
  const subject = await start()
  process.on('message', (message: ToSubject) => {
    if (message.type === 'figures') tellFigures(subject)
    else void subject.stop().finally(() => process.exit(0))
  })
  const { port, mailPort } = subject
  tell({ type: 'ready', port, ...(mailPort === undefined ? {} : { mailPort }) })
}

main().catch((error: unknown) => {
  tell({ type: 'refused', why: error instanceof Error ? error.message : 'unknown' })
  process.exitCode = 1
})
