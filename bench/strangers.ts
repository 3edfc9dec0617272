// Scenario `strangers`: CPU per megabyte of those who prove nothing, by mail and by every path that answers without a credential, shape
// by shape at three sizes; and how long /healthz takes meanwhile.
import type { Asked } from './arguments.ts'
import { type BenchPostgres, startPostgres } from './postgres.ts'
import { waitForQuiet } from './quiet.ts'
import type { Say, ScenarioResults } from './scenario.ts'
import { type HealthWatch, watchHealth } from './strangers/health.ts'
import { startHome } from './strangers/home.ts'
import { everydayHttpShapes, httpShapes, type StrangerHome } from './strangers/http-shapes.ts'
import { everydayMailShapes, mailShapes } from './strangers/mail-shapes.ts'
import { type Measured, measureShape, type Shape } from './strangers/measure.ts'
import { type Program, startProgram } from './strangers/program.ts'
import { judgeStrangers, strangersTable } from './strangers/report.ts'
import { requestBytes, sendMail, sendRequest } from './strangers/send.ts'

export const strangersSubjects: readonly string[] = ['mail', 'http']

/** The largest size of a mail; the others are a half and a quarter. A mail may have 25 MB. */
const mailBytes = { ci: 8_000_000, full: 20_000_000 } as const
const idleMs = 1500

export async function runStrangers(asked: Asked, say: Say): Promise<ScenarioResults> {
  const postgres = await startPostgres()
  const home = await startHome()
  let program: Program | undefined
  let health: HealthWatch | undefined
  try {
    program = await startProgram({
      databaseUrl: await postgres.createDatabase(),
      home: home.origin,
      names: home.names,
      profileFolder: asked.profileFolder,
    })
    health = watchHealth(program)
    const shapes = shapesOf(asked, program, { ...home, gateway: program.url })
    const samples = await measureAll({ asked, shapes, program, postgres, health, say })
    return {
      samples,
      summaries: [],
      verdicts: judgeStrangers(samples, asked.scale),
      tables: strangersTable(samples),
      postgresVersion: postgres.version,
    }
  } finally {
    await health?.stop()
    await program?.stop()
    await home.close()
    await postgres.stop()
  }
}

function shapesOf({ subjects, only, scale }: Asked, program: Program, home: StrangerHome): readonly Shape[] {
  const byMail = mailShapes.map(
    ({ name, make }): Shape => ({
      name: `mail: ${name}`,
      maxBytes: mailBytes[scale],
      make: (bytes, serial) => {
        const mail = make(bytes, serial)
        return { bytes: mail.length, send: () => sendMail(program.mailPort, mail) }
      },
    }),
  )
  const byHttp = httpShapes.map(
    ({ name, maxBytes, make }): Shape => ({
      name,
      maxBytes,
      make: (bytes, serial) => {
        const request = make(bytes, serial, home)
        const wire = requestBytes(request)
        return { bytes: Math.max(bytes, wire.length), send: () => sendRequest(program.port, wire) }
      },
    }),
  )
  const chosen = [...(subjects.includes('mail') ? byMail : []), ...(subjects.includes('http') ? byHttp : [])]
  const everyday = new Set([...everydayMailShapes.map((name) => `mail: ${name}`), ...everydayHttpShapes])
  const isMeant = (name: string): boolean =>
    only === undefined ? scale === 'full' || everyday.has(name) : only.split('|').some((part) => name.includes(part))
  return chosen.filter(({ name }) => isMeant(name))
}

type Everything = {
  readonly asked: Asked
  readonly shapes: readonly Shape[]
  readonly program: Program
  readonly postgres: BenchPostgres
  readonly health: HealthWatch
  readonly say: Say
}

async function measureAll({ asked, shapes, program, postgres, health, say }: Everything): Promise<readonly Measured[]> {
  const meter = {
    cpuMs: program.cpuMs,
    databaseCpuMs: async () => ((await postgres.cpuMicros()) ?? 0) / 1000,
    rssMb: program.rssMb,
    health,
    healthCpuMs: await healthCost(program, health),
  }
  // The first of a kind pays for compiling it.
  for (const shape of shapes.slice(0, 1)) await measureShape(meter, shape, { scale: asked.scale, idleBefore: 0 })
  const measured: Measured[] = []
  for (const [at, shape] of shapes.entries()) {
    const idleBefore = await waitForQuiet(0)
    const found = await measureShape(meter, shape, { scale: asked.scale, idleBefore })
    measured.push(found)
    say(
      `${at + 1} of ${shapes.length}: ${found.shape}: ${found.cpuMs.map((each) => each.toFixed(0)).join(', ')} ms, healthz ${found.healthMs.toFixed(0)} ms, ${found.answers}`,
    )
  }
  return measured
}

/** Of one answer, while nothing else goes on. */
async function healthCost({ cpuMs }: Program, health: HealthWatch): Promise<number> {
  const [before, asked] = [await cpuMs(), health.count()]
  await new Promise((resolve) => setTimeout(resolve, idleMs))
  return ((await cpuMs()) - before) / Math.max(1, health.count() - asked)
}
