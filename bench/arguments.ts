// What the command line asks for, or why it cannot be had.
import { parseArgs } from 'node:util'

export type Asked = {
  readonly scenario: string
  readonly rounds: number
  readonly seconds: number
  readonly subjects: readonly string[]
  readonly json: boolean
  readonly check: boolean
  /** Every run twice: with words only, and with a link in every message. */
  readonly links: boolean
  readonly profileFolder: string | undefined
  /** How large it is; of `strangers` and `journey` only. */
  readonly scale: 'ci' | 'full'
  /** Where the picture goes; of `journey` only. */
  readonly chartFile: string | undefined
  /** Only shapes whose name contains this, or one of these, with `|` between them; of `strangers` only. */
  readonly only: string | undefined
}

const flags = {
  rounds: { type: 'string' },
  seconds: { type: 'string' },
  subjects: { type: 'string' },
  json: { type: 'boolean', default: false },
  check: { type: 'boolean', default: false },
  links: { type: 'boolean', default: false },
  profile: { type: 'string' },
  scale: { type: 'string', default: 'full' },
  only: { type: 'string' },
  chart: { type: 'string' },
  help: { type: 'boolean', default: false },
} as const

/** The bounds keep a slip of the finger from filling a disk. */
const maxRounds = 50
const maxSeconds = 30

/** Throws one line that says what to correct; 'help' when that is all that was asked for. */
export function readArguments(
  args: readonly string[],
  scenarios: Readonly<Record<string, readonly string[]>>,
): Asked | 'help' {
  const { values, positionals } = parseArgs({ args: [...args], allowPositionals: true, options: flags })
  if (values.help) return 'help'
  const [scenario, ...rest] = positionals
  const knownSubjects = scenarios[scenario ?? '']
  if (scenario === undefined || rest.length > 0 || knownSubjects === undefined)
    throw new Error(`name one scenario: ${Object.keys(scenarios).join(', ')}`)
  const subjects = values.subjects?.split(',').map((name) => name.trim()) ?? knownSubjects
  const stranger = subjects.find((name) => !knownSubjects.includes(name))
  if (stranger !== undefined) throw new Error(`no subject "${stranger}"; there are ${knownSubjects.join(', ')}`)
  if (values.check && knownSubjects.includes('floor') && !subjects.includes('floor'))
    throw new Error('--check needs the floor among the subjects')
  const scale = scaleOf(values.scale)
  const usual = usualLengths(scenario, scale)
  return {
    scenario,
    rounds: numberWithin('--rounds', values.rounds ?? usual.rounds, 1, maxRounds, true),
    seconds: numberWithin('--seconds', values.seconds ?? usual.seconds, 0.2, maxSeconds, false),
    // In the order in which they are known, so that the floor always comes first.
    subjects: knownSubjects.filter((name) => subjects.includes(name)),
    json: values.json,
    check: values.check,
    links: values.links,
    profileFolder: values.profile,
    scale,
    only: values.only,
    chartFile: values.chart,
  }
}

/** Many subjects in few minutes; in CI what counts is that it runs. */
function usualLengths(scenario: string, scale: Asked['scale']): { readonly rounds: string; readonly seconds: string } {
  if (scenario !== 'journey') return { rounds: '5', seconds: '2' }
  return scale === 'ci' ? { rounds: '1', seconds: '0.4' } : { rounds: '3', seconds: '1.5' }
}

function scaleOf(text: string): Asked['scale'] {
  if (text === 'ci' || text === 'full') return text
  throw new Error('--scale must be ci or full')
}

function numberWithin(flag: string, text: string, min: number, max: number, isWhole: boolean): number {
  const value = Number(text)
  if (text.trim() === '' || !(value >= min && value <= max) || (isWhole && !Number.isInteger(value)))
    throw new Error(`${flag} must be a ${isWhole ? 'whole ' : ''}number from ${min} to ${max}`)
  return value
}
