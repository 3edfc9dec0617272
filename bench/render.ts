// Scenario `render`: what it costs to turn an answer of a model into what a platform accepts, beside the renderers of others.
import { fileURLToPath } from 'node:url'
import { corpusAnswers } from '../test/unit/markdown/corpus/answers.ts'
import type { Asked } from './arguments.ts'
import { waitForQuiet } from './quiet.ts'
import { own, type Renderer } from './render/own.ts'
import type { Say, ScenarioResults } from './scenario.ts'
import { median, ratios, type Spread, spreadOf } from './statistics.ts'
import type { Verdict } from './summary.ts'

/** Which of ours does the work of which of theirs; ours has to be below it. */
const pairs: readonly (readonly [string, string])[] = [
  ['mrkdwn', 'slackify-markdown'],
  ['mrkdwn', 'chat-adapter-slack-mrkdwn'],
  ['blocks', 'slackify-markdown'],
  ['blocks', 'chat-adapter-slack'],
  ['entities', 'chat-adapter-telegram'],
]
const rivalNames = ['slackify-markdown', 'chat-adapter-slack', 'chat-adapter-slack-mrkdwn', 'chat-adapter-telegram']
export const renderSubjects: readonly string[] = [...Object.keys(own), ...rivalNames]

const maxQuietMs = 500
/** So that a fast subject is not measured by a single tick of the clock. */
const leastKilobytes = 600

type RenderSample = {
  readonly subject: string
  readonly round: number
  readonly cpuMicrosPerKb: number
  readonly idleBefore: number
}
type RenderSummary = { readonly subject: string; readonly cpuMicrosPerKb: Spread }

export async function runRender(asked: Asked, say: Say): Promise<ScenarioResults> {
  const answers = corpusAnswers(fileURLToPath(new URL('../test/fixtures/answers', import.meta.url)))
  const texts = answers.map(({ markdown }) => ({ markdown, bytes: Buffer.byteLength(markdown) }))
  const renderers = await loadRenderers(asked.subjects)
  for (const [subject, renderer] of renderers) prove(subject, renderer)
  const samples: RenderSample[] = []
  for (let round = 0; round <= asked.rounds; round += 1) {
    say(`render: round ${round} of ${asked.rounds}, ${texts.length} answers`)
    for (const [subject, renderer] of renderers) {
      const idleBefore = await waitForQuiet(round === 0 ? 0 : maxQuietMs)
      const sample = { subject, round, cpuMicrosPerKb: microsPerKb(texts, renderer), idleBefore }
      // The first round warms up and is thrown away.
      if (round > 0) samples.push(sample)
    }
  }
  const summaries = summarize(samples)
  return { samples, summaries, verdicts: judge(samples), tables: tableOf(summaries), postgresVersion: undefined }
}

/** Theirs are packages of the bench's own, installed before this program was started (bench/run.js). */
async function loadRenderers(subjects: readonly string[]): Promise<readonly (readonly [string, Renderer])[]> {
  const isRivalAsked = subjects.some((subject) => rivalNames.includes(subject))
  const file = new URL('../bench/render/rivals.js', import.meta.url).href
  const { rivals }: { rivals: Readonly<Record<string, Renderer>> } = isRivalAsked ? await import(file) : { rivals: {} }
  return subjects.map((subject) => {
    const renderer = own[subject] ?? rivals[subject]
    if (renderer === undefined) throw new Error(`${subject} cannot be had`)
    return [subject, renderer]
  })
}

/** A renderer that does nothing would be fast as well. */
function prove(subject: string, renderer: Renderer): void {
  const rendered = JSON.stringify(renderer('# Title\n\n- one **two**\n- [three](https://x.example)'))
  const lost = ['Title', 'one', 'two', 'three', 'https://x.example'].filter((word) => !rendered.includes(word))
  if (lost.length > 0) throw new Error(`${subject} loses ${lost.join(', ')}`)
}

type Text = { readonly markdown: string; readonly bytes: number }

function microsPerKb(texts: readonly Text[], renderer: Renderer): number {
  let rendered = 0
  const before = process.cpuUsage()
  while (rendered < leastKilobytes * 1024) {
    for (const { markdown, bytes } of texts) {
      renderer(markdown)
      rendered += bytes
    }
  }
  const { user, system } = process.cpuUsage(before)
  return (user + system) / (rendered / 1024)
}

function summarize(samples: readonly RenderSample[]): readonly RenderSummary[] {
  return [...Map.groupBy(samples, ({ subject }) => subject)].map(([subject, all]) => ({
    subject,
    cpuMicrosPerKb: spreadOf(all.map((each) => each.cpuMicrosPerKb)),
  }))
}

/** Round by round; a pair of which one did not run is not judged. */
function judge(samples: readonly RenderSample[]): readonly Verdict[] {
  const of = (subject: string) => samples.filter((each) => each.subject === subject).map((each) => each.cpuMicrosPerKb)
  return pairs.flatMap(([ours, theirs]) => {
    const value = median(ratios(of(ours), of(theirs)))
    if (Number.isNaN(value)) return []
    return [{ subject: ours, measure: `CPU per KB, times ${theirs}`, value, aim: 1, isMet: value < 1 }]
  })
}

function tableOf(summaries: readonly RenderSummary[]): string {
  const cell = ({ median: middle, min, max }: Spread) => `${middle.toFixed(1)} (${min.toFixed(1)} - ${max.toFixed(1)})`
  const rows = summaries.map((each) => `| ${each.subject} | ${cell(each.cpuMicrosPerKb)} |`)
  return ['| subject | CPU µs/KB |', '| --- | --- |', ...rows].join('\n')
}
