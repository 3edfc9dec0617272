// A strict reader of the Prometheus text format 0.0.4: everything a scraper may refuse is an error here.

export type ReadSample = {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

export type ReadFamily = {
  readonly name: string
  readonly type: string
  readonly help: string
  readonly samples: ReadSample[]
}

const metricName = '[a-zA-Z_:][a-zA-Z0-9_:]*'
const helpLine = new RegExp(`^# HELP (${metricName}) ((?:[^\\\\]|\\\\[\\\\n])+)$`)
const typeLine = new RegExp(`^# TYPE (${metricName}) (counter|gauge|histogram|summary|untyped)$`)
const sampleLine = new RegExp(`^(${metricName})(?:\\{(.*)\\})? ([^ ]+)(?: (-?[0-9]+))?$`)
const labelPair = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\[\\n"])*)"(,|$)/
const number = /^(?:[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?Inf|NaN)$/

/** Throws at the first line that does not conform, with its number. */
export function readPrometheusText(text: string): ReadonlyMap<string, ReadFamily> {
  const families = new Map<string, ReadFamily>()
  const seen = new Set<string>()
  let current: { name: string; help: string; family?: ReadFamily } | undefined
  if (text !== '' && !text.endsWith('\n')) throw new Error('the last line has no end')
  for (const [index, line] of text.split('\n').slice(0, -1).entries()) {
    const fail = (what: string): never => {
      throw new Error(`line ${index + 1}: ${what}: ${line}`)
    }
    if (line === '') continue
    if (line.startsWith('# HELP')) {
      const [, name = '', help = ''] = helpLine.exec(line) ?? fail('no HELP line')
      if (families.has(name) || current?.name === name) fail('a family twice, or not in one piece')
      if (current !== undefined && current.family === undefined) fail('HELP without TYPE before it')
      current = { name, help }
    } else if (line.startsWith('# TYPE')) {
      const [, name = '', type = ''] = typeLine.exec(line) ?? fail('no TYPE line')
      if (current?.name !== name || current.family !== undefined) fail('TYPE without its HELP')
      const family = { name, type, help: current?.help ?? '', samples: [] }
      families.set(name, family)
      current = { name, help: family.help, family }
    } else if (line.startsWith('#')) fail('a comment that is neither HELP nor TYPE')
    else {
      const sample = readSample(line, fail)
      const family = current?.family ?? fail('a sample without its family')
      if (!belongs(sample, family)) fail(`not a sample of ${family.name}`)
      const key = JSON.stringify([sample.name, Object.entries(sample.labels).toSorted()])
      if (seen.has(key)) fail('the same sample twice')
      seen.add(key)
      family.samples.push(sample)
    }
  }
  for (const family of families.values()) if (family.type === 'histogram') checkHistogram(family)
  return families
}

function readSample(line: string, fail: (what: string) => never): ReadSample {
  const [, name = '', inner, value = ''] = sampleLine.exec(line) ?? fail('no sample')
  if (!number.test(value)) fail('no number')
  const labels: Record<string, string> = {}
  for (let rest = inner ?? ''; rest !== ''; ) {
    const [whole, label = '', text = '', comma = ''] = labelPair.exec(rest) ?? fail('no label')
    if (label in labels) fail('a label twice')
    labels[label] = text.replaceAll(/\\(.)/g, (_, escaped: string) => (escaped === 'n' ? '\n' : escaped))
    rest = rest.slice(whole.length)
    if (comma === ',' && rest === '' && !line.includes(',}')) fail('a comma without a label')
  }
  return { name, labels, value: Number(value.replace('Inf', 'Infinity')) }
}

function belongs({ name, labels, value }: ReadSample, family: ReadFamily): boolean {
  if (family.type === 'counter' && !(value >= 0)) return false
  if (family.type !== 'histogram') return name === family.name
  if (name === `${family.name}_bucket`) return 'le' in labels
  return name === `${family.name}_sum` || name === `${family.name}_count`
}

/** Buckets rise, end with +Inf, and that one is the count. */
function checkHistogram({ name, samples }: ReadFamily): void {
  const series = new Map<string, { buckets: { le: number; value: number }[]; count?: number }>()
  for (const sample of samples) {
    const { le, ...labels } = sample.labels
    const key = JSON.stringify(Object.entries(labels).toSorted())
    const found = series.get(key) ?? { buckets: [] }
    series.set(key, found)
    if (le !== undefined) found.buckets.push({ le: Number(le.replace('Inf', 'Infinity')), value: sample.value })
    else if (sample.name.endsWith('_count')) found.count = sample.value
  }
  for (const { buckets, count } of series.values()) {
    const isRising = buckets.every(
      (each, i) => i === 0 || (each.le > (buckets[i - 1]?.le ?? 0) && each.value >= (buckets[i - 1]?.value ?? 0)),
    )
    const last = buckets.at(-1)
    if (!isRising || last?.le !== Number.POSITIVE_INFINITY || last.value !== count)
      throw new Error(`${name}: no histogram`)
  }
}
