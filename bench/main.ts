// `npm run bench -- <scenario>`: runs it, tells its figures as tables or as JSON lines, and judges them on request.
import { mkdir, writeFile } from 'node:fs/promises'
import { cpus, loadavg } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { a2aSubjects, runA2a } from './a2a.ts'
import { acceptSubjects, runAccept } from './accept.ts'
import { activitypubSubjects, runActivityPub } from './activitypub.ts'
import { type Asked, readArguments } from './arguments.ts'
import { emailSubjects, runEmail } from './email.ts'
import { journeySubjects, runJourney } from './journey.ts'
import { loopSubjects, runLoopScenario } from './loop.ts'
import { platformSubjects, runPlatform } from './platforms.ts'
import { policySubjects, runPolicy } from './policy.ts'
import { wasQuiet } from './quiet.ts'
import { renderSubjects, runRender } from './render.ts'
import { verdictLine } from './report.ts'
import type { Scenario, ScenarioResults } from './scenario.ts'
import { runStrangers, strangersSubjects } from './strangers.ts'

const scenarios: Readonly<Record<string, Scenario>> = {
  a2a: { subjects: a2aSubjects, run: runA2a },
  accept: { subjects: acceptSubjects, run: runAccept },
  activitypub: { subjects: activitypubSubjects, run: runActivityPub },
  email: { subjects: emailSubjects, run: runEmail },
  journey: { subjects: journeySubjects, run: runJourney },
  loop: { subjects: loopSubjects, run: runLoopScenario },
  policy: { subjects: policySubjects, run: runPolicy },
  render: { subjects: renderSubjects, run: runRender },
  slack: { subjects: platformSubjects.slack, run: runPlatform('slack') },
  strangers: { subjects: strangersSubjects, run: runStrangers },
  telegram: { subjects: platformSubjects.telegram, run: runPlatform('telegram') },
}

const usage = `npm run bench -- <scenario> [options]

  a2a                what a whole request of another agent costs, beside the SDK's own server: ${a2aSubjects.join(',')}
  accept             what it costs to take a signed webhook in: ${acceptSubjects.join(',')}
  activitypub        what it costs to take a signed post in, beside a plain Fedify inbox: ${activitypubSubjects.join(',')}
  email              what it costs to take a signed mail in, beside the same libraries alone: ${emailSubjects.join(',')}
  journey            what an answered message costs, from the webhook to the settled reply: ${journeySubjects.join(',')}
  loop               what a turn costs beside what the agent does: ${loopSubjects.join(',')}
  policy             what it costs to know who speaks and whether they may
  render             what it costs to render an answer, beside others: ${renderSubjects.join(',')}
  slack              what it costs to take an event in, beside libraries that keep nothing: ${platformSubjects.slack.join(',')}
  strangers          what a megabyte of strangers costs, shape by shape: ${strangersSubjects.join(',')}
  telegram           what it costs to take an update in, beside libraries that keep nothing: ${platformSubjects.telegram.join(',')}

  --rounds <n>       rounds after the warm-up (5; journey 3)
  --seconds <n>      length of one run (2; journey 1.5); not of loop, policy and render
  --subjects <list>  some of the scenario's (all)
  --json             JSON lines instead of tables
  --check            exit code 1 when an aim is missed
  --links            also with a link in every message, and the ratio; slack and telegram
  --profile <folder> write a CPU profile of every subject into the folder; not of loop, policy and render
  --scale ci|full    how large the shapes are (full), or how short the runs; strangers and journey
  --chart <file>     where the picture goes (bench/results/journey.svg); journey
  --only <text>      shapes whose name contains it; several with | between them; strangers
  --help             this text

Everything runs on this machine and on 127.0.0.1. Without --json the JSON lines go to a file in bench/results/.`

const timed: readonly string[] = ['a2a', 'accept', 'activitypub', 'email', 'journey', 'slack', 'telegram']
const resultsFolder = fileURLToPath(new URL('../bench/results', import.meta.url))

async function main(): Promise<number> {
  let asked: Asked | 'help'
  try {
    const subjects = Object.fromEntries(Object.entries(scenarios).map(([name, each]) => [name, each.subjects]))
    asked = readArguments(process.argv.slice(2), subjects)
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`)
    return 2
  }
  if (asked === 'help') {
    console.log(usage)
    return 0
  }
  const results = await scenarios[asked.scenario]?.run(asked, (text) => void process.stderr.write(`${text}\n`))
  if (results === undefined) return 2
  await tell(asked, results)
  for (const failure of results.failures ?? []) console.error(`FAILED ${failure}`)
  if ((results.failures ?? []).length > 0) return 1
  return asked.check && results.verdicts.some((verdict) => !verdict.isMet) ? 1 : 0
}

async function tell(asked: Asked, results: ScenarioResults): Promise<void> {
  const { samples, summaries, verdicts, tables } = results
  const machine = machineFacts(asked, results)
  const lines = [
    { type: 'machine', ...machine },
    ...samples.map((sample) => ({ type: 'sample', ...sample })),
    ...summaries.map((summary) => ({ type: 'summary', ...summary })),
    ...verdicts.map((verdict) => ({ type: 'verdict', ...verdict })),
  ].map((line) => JSON.stringify(line))
  if (asked.json) {
    console.log(lines.join('\n'))
    return
  }
  const file = join(resultsFolder, `${asked.scenario}-${machine.at.replaceAll(/[:.]/g, '-')}.jsonl`)
  await mkdir(resultsFolder, { recursive: true })
  await writeFile(file, `${lines.join('\n')}\n`)
  console.log(`\n${machine.cores} x ${machine.processor}, Node ${machine.node}, PostgreSQL ${machine.postgres}`)
  const length = timed.includes(asked.scenario) ? ` of ${asked.seconds} s` : ''
  console.log(`load average ${machine.loadAverage}, ${asked.rounds} rounds${length}\n`)
  console.log(`${tables}\n`)
  const busy = samples.filter((sample) => !wasQuiet(sample.idleBefore)).length
  console.log(`${busy} of ${samples.length} runs began while the machine was busy with something else\n`)
  for (const verdict of verdicts) console.log(verdictLine(verdict))
  console.log(`\nfigures: ${file}`)
}

function machineFacts(asked: Asked, results: ScenarioResults) {
  return {
    at: new Date().toISOString(),
    scenario: asked.scenario,
    rounds: asked.rounds,
    secondsPerRun: asked.seconds,
    node: process.versions.node,
    postgres: results.postgresVersion ?? 'not used',
    processor: cpus()[0]?.model ?? 'unknown',
    cores: cpus().length,
    loadAverage: loadavg()
      .map((each) => each.toFixed(1))
      .join(' '),
  }
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130))
// Said outright: a package's exit hook would otherwise end the process with 0.
process.exit(
  await main().catch((error: unknown) => {
    console.error(`bench: ${error instanceof Error ? error.message : String(error)}`)
    return 1
  }),
)
