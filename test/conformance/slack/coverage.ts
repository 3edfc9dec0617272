// Every case that concerns Slack, and where it stands: run as it is written, run with the outcome we chose instead
// (the rows say why), or left out with its reason. slack.test.ts holds this list to the rows that really run. Tenancy (8.2) has
// a list of its own.

const range = (prefix: string, from: number, to: number): readonly string[] =>
  Array.from({ length: to - from + 1 }, (_, index) => `${prefix}${String(from + index).padStart(2, '0')}`)

export const specified: readonly string[] = [
  ...range('S', 1, 20),
  ...range('S', 40, 62),
  ...range('S', 70, 96),
  ...range('SL-', 1, 16),
]

export const coverage = {
  differs: ['S13', 'S15', 'S55', 'S62', 'SL-08'],
  leftOut: {
    S20: 'the same for every channel: test/journeys/outage.long.test.ts shows 503 and that nothing is half stored',
    S86: 'needs a running gateway: test/journeys/slack-agent-view.test.ts presses the button of a stream that grows',
    S96: 'there are no modals: nothing an agent asks needs more than a button or a sentence',
  } as Readonly<Record<string, string>>,
}
