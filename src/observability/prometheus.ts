// The Prometheus text format, version 0.0.4: families with help, type and samples.

export type MetricSample = { readonly labels: Readonly<Record<string, string>>; readonly value: number }

export type MetricFamily = {
  readonly name: string
  readonly help: string
  readonly type: 'gauge' | 'counter'
  readonly samples: readonly MetricSample[]
}

export const prometheusContentType = 'text/plain; version=0.0.4; charset=utf-8'

/** A family without samples says nothing; it is left out. */
export function formatPrometheus(families: readonly MetricFamily[]): string {
  return families
    .filter(({ samples }) => samples.length > 0)
    .flatMap(({ name, help, type, samples }) => [
      `# HELP ${name} ${help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}`,
      `# TYPE ${name} ${type}`,
      ...samples.map((sample) => `${name}${formatLabels(sample)} ${String(sample.value)}`),
    ])
    .map((line) => `${line}\n`)
    .join('')
}

function formatLabels({ labels }: MetricSample): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabelValue(value)}"`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

function escapeLabelValue(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"')
}
