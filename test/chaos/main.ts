// `npm run chaos -- <name>`: runs crash tests, tells their figures as a table or as JSON lines, exits with 1 when one is broken.
import { parseArgs } from 'node:util'
import { a2aHops } from './a2a-hops.ts'
import { a2aResume } from './a2a-resume.ts'
import { approval } from './approval.ts'
import { burst } from './burst.ts'
import { cancel } from './cancel.ts'
import type { CrashTest, CrashTestOptions, Line, Scale } from './crash-test.ts'
import { embedded } from './embedded.ts'
import { fediverse } from './fediverse.ts'
import { flood } from './flood.ts'
import { hang } from './hang.ts'
import { long } from './long.ts'
import { loss } from './loss.ts'
import { mail } from './mail.ts'
import { outage } from './outage.ts'
import { poison } from './poison.ts'
import { replicas } from './replicas.ts'
import { shapes } from './shapes.ts'
import { steps } from './steps.ts'
import { strangers } from './strangers.ts'
import { upgrade } from './upgrade.ts'

const crashTests: Readonly<Record<string, CrashTest>> = {
  loss,
  steps,
  shapes,
  burst,
  replicas,
  embedded,
  long,
  flood,
  outage,
  hang,
  poison,
  upgrade,
  approval,
  cancel,
  'a2a-resume': a2aResume,
  'a2a-hops': a2aHops,
  mail,
  fediverse,
  strangers,
}

const usage = `npm run chaos -- <${Object.keys(crashTests).join(' | ')} | all> [--scale ci|full] [--seed n] [--json]`

type Asked = {
  readonly names: readonly string[]
  readonly scale: Scale
  readonly seed: number
  readonly json: boolean
}

const flags = {
  scale: { type: 'string', default: 'ci' },
  seed: { type: 'string', default: '1' },
  json: { type: 'boolean', default: false },
} as const

/** Undefined: say how it is used. */
function readArguments(args: readonly string[]): Asked | undefined {
  if (args.includes('--help')) return undefined
  const { values, positionals } = parseArgs({ args: [...args], allowPositionals: true, options: flags })
  const names = positionals.includes('all') ? Object.keys(crashTests) : positionals
  const scale = (['ci', 'full'] as const).find((each) => each === values.scale)
  const seed = Number(values.seed)
  const isKnown = names.length > 0 && names.every((name) => crashTests[name] !== undefined)
  if (!isKnown || scale === undefined || !Number.isInteger(seed)) return undefined
  return { names, scale, seed, json: values.json }
}

async function runCrashTest(name: string, asked: Asked): Promise<boolean> {
  const crashTest = crashTests[name]
  if (crashTest === undefined) return false
  const started = performance.now()
  let status = 'starting'
  const ticker = setInterval(() => {
    const seconds = ((performance.now() - started) / 1000).toFixed(0)
    process.stderr.write(`[${name} ${seconds} s] ${status}\n`)
  }, 2000)
  const options: CrashTestOptions = {
    scale: asked.scale,
    seed: asked.seed,
    postgresUrl: process.env['CRASH_TEST_POSTGRES_URL'],
    say: (text) => {
      status = text
    },
  }
  try {
    const lines = await crashTest(options)
    const seconds = (performance.now() - started) / 1000
    return report({ crashTest: name, scale: asked.scale, seed: asked.seed, seconds }, lines, asked.json)
  } finally {
    clearInterval(ticker)
  }
}

type Heading = { crashTest: string; scale: string; seed: number; seconds: number }

function report(heading: Heading, lines: readonly Line[], asJson: boolean): boolean {
  const broken = lines.filter((line) => !line.ok)
  const isHeld = broken.length === 0
  if (asJson) {
    for (const line of lines) console.log(JSON.stringify({ crashTest: heading.crashTest, ...line }))
    console.log(JSON.stringify({ ...heading, held: isHeld, broken: broken.length }))
    return isHeld
  }
  const { crashTest, scale, seed, seconds } = heading
  console.log(`\n${crashTest}, scale ${scale}, seed ${seed}, ${seconds.toFixed(1)} s`)
  const width = Math.max(...lines.map((line) => line.name.length))
  for (const { name, value, bar, ok } of lines) {
    const verdict = bar === undefined ? '      ' : ok ? 'held  ' : 'BROKEN'
    console.log(`  ${verdict} ${name.padEnd(width)}  ${value}${bar === undefined ? '' : `  (bar: ${bar})`}`)
  }
  console.log(isHeld ? `${crashTest} holds` : `${crashTest} is BROKEN: ${broken.length} of its checks`)
  return isHeld
}

async function main(): Promise<number> {
  const asked = readArguments(process.argv.slice(2))
  if (asked === undefined) {
    console.error(usage)
    return 2
  }
  let isHeld = true
  for (const name of asked.names) isHeld = (await runCrashTest(name, asked)) && isHeld
  return isHeld ? 0 : 1
}

// Said outright: a package's exit hook would otherwise end the process with 0.
process.exit(await main())
