// The journey of an answered message: what counts as lost and as doubled, what the samples say, what the picture shows.
import { describe, expect, test } from 'vitest'
import { drawJourneyChart } from '../../../bench/journey/chart.ts'
import { planArrivals } from '../../../bench/journey/load.ts'
import { createReplyLedger } from '../../../bench/journey/replies.ts'
import { type JourneySample, journeyTables, judgeJourney, summarizeJourney } from '../../../bench/journey/report.ts'
import { answerUpdate, createUpdate, createUpdateRequest, readReplyNumber } from '../../../bench/journey/updates.ts'

describe('updates and replies', () => {
  test('a reply names the update it is for', () => {
    const { message } = createUpdate(42, 7) as { readonly message: { readonly text: string } }
    expect(readReplyNumber(answerUpdate(message.text))).toBe(42)
    expect(readReplyNumber('Something went wrong')).toBeUndefined()
  })

  test('an update has about half a kilobyte', () => {
    const body = createUpdateRequest(1, 1).toString('utf8').split('\r\n\r\n')[1] ?? ''
    expect(Buffer.byteLength(body)).toBeGreaterThan(450)
    expect(Buffer.byteLength(body)).toBeLessThan(650)
  })

  test('one reply each is neither lost nor doubled', async () => {
    const ledger = createReplyLedger(1000, () => 5)
    const { number, replied } = ledger.expectReply()
    ledger.recordReply(`m${number} seen`)
    expect(await replied).toBe(5)
    expect(ledger.countReplies()).toEqual({ lost: 0, doubled: 0 })
  })

  test('no reply is lost; a second one, or one to nothing, is doubled', async () => {
    const ledger = createReplyLedger(1)
    const [first, second] = [ledger.expectReply(), ledger.expectReply()]
    ledger.recordReply(`m${first.number} seen`)
    ledger.recordReply(`m${first.number} seen`)
    ledger.recordReply('m99 seen')
    expect(await second.replied).toBeUndefined()
    expect(ledger.countReplies()).toEqual({ lost: 1, doubled: 2 })
  })

  test('arrivals come as often as asked for, in order, and end in time', () => {
    const draws = [0.5, 0.9, 0.1]
    let drawn = 0
    const arrivals = planArrivals(8, 60, () => {
      drawn += 1
      return draws[drawn % draws.length] ?? 0
    })
    expect(arrivals).toEqual(arrivals.toSorted((a, b) => a - b))
    expect(arrivals.at(-1)).toBeLessThan(60_000)
    expect(arrivals.length / 60).toBeCloseTo(8 / 1.034, 0)
  })
})

describe('what the samples say', () => {
  const samples = [
    sample('parley', '32', 1, { gatewayMicros: 3000, databaseMicros: 6000, ownStatements: 8 }),
    sample('parley', '32', 2, { gatewayMicros: 1000, databaseMicros: 1000, ownStatements: 8 }),
    sample('full', '32', 1, { gatewayMicros: 300, databaseMicros: 600 }),
    sample('full', '32', 2, { gatewayMicros: 500, databaseMicros: 500 }),
    sample('grammy', '32', 1, { databaseMicros: null, statements: null }),
    sample('parley', '8/s', 2, { p50Ms: 4, p99Ms: 13 }),
  ]

  test('CPU of both together is judged beside the reference of the same round', () => {
    const [beside] = judgeJourney(samples)
    expect(beside).toMatchObject({ subject: 'parley', value: 6, aim: 2, isMet: false })
  })

  test('a rival that did not run is not compared with; own aims are judged at their load', () => {
    expect(judgeJourney(samples).map(({ measure, isMet }) => [measure, isMet])).toEqual([
      ['CPU per answered message with 32 in flight, times full', false],
      ['statements per answered message (32 in flight)', false],
      ['p50 webhook to reply, ms (8 messages a second)', true],
      ['p99 webhook to reply, ms (8 messages a second)', false],
    ])
  })

  test('the table leaves empty what a subject does not have', () => {
    const line = journeyTables(summarizeJourney(samples))
      .split('\n')
      .find((text) => text.includes('grammy'))
    expect(line?.split('|').map((cell) => cell.trim())[4]).toBe('')
  })
})

describe('the picture', () => {
  const svg = drawJourneyChart(
    [
      { label: 'long', gatewayMs: 3, databaseMs: 6 },
      { label: 'a<b', gatewayMs: 0.5, databaseMs: 0 },
    ],
    'a run',
  )

  test('has a bar for each part, the shortest subject first, and both grounds', () => {
    expect(svg.match(/<rect class="(gateway|database)"/g)).toHaveLength(6)
    expect(svg.indexOf('a&lt;b')).toBeLessThan(svg.indexOf('>long<'))
    expect(svg).toContain('prefers-color-scheme: dark')
  })

  test('the longest bar fits beside its figure', () => {
    const ends = [...svg.matchAll(/<rect class="database" x="([\d.]+)" y="\d+" width="([\d.]+)"/g)].map(
      ([, x, width]) => Number(x) + Number(width),
    )
    expect(Math.max(...ends)).toBeLessThan(700)
  })
})

function sample(
  subject: string,
  load: JourneySample['load'],
  round: number,
  figures: Partial<JourneySample>,
): JourneySample {
  const database = {
    databaseMicros: 100,
    statements: 3,
    ownStatements: null,
    commits: 3,
    walBytes: 100,
    keptBytes: 100,
  }
  const rest = { answered: 10, perSecond: 10, gatewayMicros: 100, p50Ms: 1, p99Ms: 2, idleBefore: 1 }
  return { subject, load, round, ...database, ...rest, ...figures }
}
