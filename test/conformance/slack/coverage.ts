// Every case of slack 8.1, 8.3, 8.4 and msg 17.3 and where it stands: run as it is written, run with the outcome we chose instead
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
  differs: ['S13', 'S15', 'S55', 'S62', 'S70', 'S71', 'S77', 'S85', 'SL-08'],
  leftOut: {
    S20: 'the same for every channel: test/journeys/outage.test.ts shows 503 and that nothing is half stored',
    S44: 'counting hops needs what was said before in a thread; bots are not heard unless the operator lists them',
    S86: 'stopping a run belongs to the gateway, which then shows no more frames (test/journeys/live.test.ts)',
    S94: 'cards are never posted to one person alone',
    S95: 'response_url is not kept and not used',
    S96: 'there are no modals',
    'SL-06': 'S16 is the same case, with the books',
  } as Readonly<Record<string, string>>,
}
