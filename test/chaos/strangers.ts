// strangers: unproven mails, follows and notes of unknown actors and webhooks with bad signatures by the thousands, while
// admitted people go on on every channel. They are answered once each and as fast as ever; what strangers leave behind has a bound.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startFediverse } from '../doubles/fediverse.ts'
import { startNamesByJson } from '../doubles/json-dns.ts'
import { mailKey } from '../doubles/signed-mails.ts'
import { startSlackApi } from '../doubles/slack-api.ts'
import { startSmtpSink } from '../doubles/smtp-sink.ts'
import { startTelegramApi } from '../doubles/telegram-api.ts'
import { createPostgresDatabase } from '../setup/postgres-databases.ts'
import { startPostgresServer } from '../setup/postgres-server.ts'
import { type CrashTest, check, delay, equal, eventually, fact, type Line, zero } from './crash-test.ts'
import { createOperator } from './operator.ts'
import { type Flood, startFlood } from './strangers-flood.ts'
import { type Holdings, type StrangersGateway, startStrangersGateway } from './strangers-gateway.ts'
import {
  type AdmittedPeople,
  type Asked,
  admitPeople,
  channelNames,
  mailAddress,
  mailDomain,
  peopleHost,
  telegramId,
} from './strangers-people.ts'
import { adminToken } from './subject-settings.ts'
import { median, milliseconds } from './timing.ts'

/** `before`: rounds of all senders before the flood; `most`: at most so many during it. */
const sizes = {
  ci: { strangers: 240, lanes: 4, leastMs: 12_000, before: 6, most: 20, pauseMs: 300 },
  full: { strangers: 10_000, lanes: 8, leastMs: 240_000, before: 12, most: 40, pauseMs: 5000 },
} as const

const firstStrangers = 30
/** Averaged over the strangers of all three kinds: what may stay of one in the database, and of files. */
const maxDatabaseBytes = 4096
const maxFileBytes = 256
const maxRowsPerStranger = 1
/** What admitted people leave beside them, and what a database takes ahead. */
const bytesOfAdmitted = 32 * 1024
const bytesAhead = 3 * 2 ** 20
const rowsOfAdmitted = 8
/** A process that was asked more has more code compiled and more room taken. */
const maxRssGrowthMb = 200
/** Beside the flood the gateway and the senders share this machine. */
const maxSlowerTimes = 4
const graceMs = 400
const maxAnswerMs = 10_000

export const strangers: CrashTest = async (options) => {
  const size = sizes[options.scale]
  const folder = await mkdtemp(join(tmpdir(), 'parley-crash-test-'))
  const server = options.postgresUrl === undefined ? await startPostgresServer({ isDurable: true }) : undefined
  const database = await createPostgresDatabase(options.postgresUrl ?? server?.url ?? '')
  const slack = await startSlackApi()
  const telegram = await startTelegramApi()
  const sink = await startSmtpSink((address) => address.endsWith(`@${mailDomain}`))
  const [fediverse, elsewhere] = [await startFediverse(), await startFediverse()]
  const names = await startNamesByJson({
    [`s1._domainkey.${mailDomain}`]: mailKey().record,
    [`_dmarc.${mailDomain}`]: 'v=DMARC1; p=reject',
  })
  const numbers = Array.from({ length: size.before + size.most }, (_, number) => number)
  let gateway: StrangersGateway | undefined
  try {
    gateway = await startStrangersGateway(folder, {
      databaseUrl: database.url,
      slackOrigin: slack.origin,
      telegram: { apiRoot: telegram.apiRoot, token: telegram.token },
      smtpUrl: sink.url,
      names: names.url,
      fediverse: [fediverse, elsewhere].map((each) => each.origin(peopleHost)),
      admitted: {
        mail: numbers.map((number) => `mailto:${mailAddress(number)}`),
        telegram: numbers.map((number) => `telegram:${telegramId(number)}`),
      },
    })
    const people = admitPeople(
      gateway,
      { slack, telegram, sink, fediverse },
      {
        token: await makeToken(gateway.url),
        known: size.before,
      },
    )
    options.say('people write before the flood')
    const before: Asked[] = []
    for (let number = 0; number < size.before; number += 1) before.push(...(await people.askAll(number)))
    // What the first strangers make the process start and compile is there from then on.
    options.say('the first strangers come')
    await startFlood({
      gateway,
      fediverse: elsewhere,
      first: size.strangers,
      count: firstStrangers,
      lanes: size.lanes,
      leastMs: 0,
    }).over
    const held = await gateway.look()
    const flood = startFlood({ ...size, gateway, fediverse: elsewhere, first: 0, count: size.strangers })
    const during = await askThroughout(people, flood, size, options.say)
    await flood.over
    const { url } = gateway
    const isQuiet = await eventually(() => createOperator(() => url).isQuiet(), 120_000, 200)
    // The collector and the sweeper have their turn.
    await delay(options.scale === 'ci' ? 2000 : 15_000)
    return [
      ...floodFacts(flood, size.strangers),
      check('nothing is left to do', isQuiet ? 'yes' : 'no', 'yes', isQuiet),
      ...promises(people, [...before, ...during]),
      ...paces(before.filter(isWarm), during),
      ...holdings(held, await gateway.look(), size.strangers, during.length),
    ]
  } finally {
    await gateway?.stop()
    for (const each of [slack, telegram, sink, names]) await each.close()
    await fediverse.stop()
    await elsewhere.stop()
    await database.drop()
    await server?.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

/** The first of all pays for what is compiled and connected then. */
const isWarm = ({ number }: Asked): boolean => number > 0

async function makeToken(url: string): Promise<string> {
  const response = await fetch(`${url}/admin/tokens`, {
    method: 'POST',
    headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
    body: JSON.stringify({ label: 'crash test' }),
  })
  return ((await response.json()) as { readonly token: string }).token
}

async function askThroughout(
  people: AdmittedPeople,
  flood: Flood,
  { before, most, pauseMs }: (typeof sizes)['ci' | 'full'],
  say: (status: string) => void,
): Promise<readonly Asked[]> {
  const asked: Asked[] = []
  for (let number = before; number < before + most && !flood.isOver(); number += 1) {
    say(`people write during the flood, round ${number - before + 1}`)
    asked.push(...(await people.askAll(number)))
    await delay(pauseMs)
  }
  return asked
}

function floodFacts(flood: Flood, count: number): readonly Line[] {
  const answers = [...flood.answers].toSorted(([one], [other]) => one.localeCompare(other))
  return [
    fact('strangers of each kind', count),
    fact('seconds of the flood', flood.seconds().toFixed(0)),
    ...answers.map(([answer, times]) => fact(`  ${answer}`, times)),
    equal(
      'strangers that were answered',
      answers.reduce((sum, [, times]) => sum + times, 0),
      count * 3,
    ),
  ]
}

function promises(people: AdmittedPeople, asked: readonly Asked[]): readonly Line[] {
  const answers = asked.map(({ channel, number }) => people.answersTo(channel, number))
  return [
    fact('messages of admitted people', asked.length),
    zero('admitted messages without an answer', answers.filter((count) => count === 0).length),
    zero('admitted messages answered twice', answers.filter((count) => count > 1).length),
  ]
}

function paces(before: readonly Asked[], during: readonly Asked[]): readonly Line[] {
  return channelNames.flatMap((channel) => {
    const [calm, busy] = [before, during].map((all) =>
      all.filter((each) => each.channel === channel).flatMap(({ ms }) => ms ?? []),
    ) as [number[], number[]]
    const bar = median(calm) * maxSlowerTimes + graceMs
    const slowest = Math.max(...busy)
    return [
      fact(
        `${channel}: answered without the flood`,
        `median ${milliseconds(median(calm))}, slowest ${milliseconds(Math.max(...calm))}`,
      ),
      check(
        `${channel}: median during the flood`,
        milliseconds(median(busy)),
        `at most ${maxSlowerTimes} times and ${graceMs} ms: ${milliseconds(bar)}`,
        median(busy) <= bar,
      ),
      check(
        `${channel}: slowest during the flood`,
        milliseconds(slowest),
        `at most ${milliseconds(maxAnswerMs)}`,
        slowest <= maxAnswerMs,
      ),
    ]
  })
}

function holdings(before: Holdings, after: Holdings, count: number, admitted: number): readonly Line[] {
  const all = count * 3
  const folder = after.folderBytes - before.folderBytes
  const database = after.databaseBytes - before.databaseBytes
  const grown = [...after.rows]
    .map(([table, rows]) => ({ table, rows: rows - (before.rows.get(table) ?? 0) }))
    .filter(({ rows }) => rows !== 0)
    .toSorted((one, other) => other.rows - one.rows)
  const worst = grown[0]
  // A conversation of admitted people has several rows of a kind.
  const allowed = all * maxRowsPerStranger + admitted * rowsOfAdmitted
  const databaseBar = all * maxDatabaseBytes + admitted * bytesOfAdmitted + bytesAhead
  return [
    fact('disk before', `${megabytes(before.folderBytes)} folder, ${megabytes(before.databaseBytes)} database`),
    fact('disk after', `${megabytes(after.folderBytes)} folder, ${megabytes(after.databaseBytes)} database`),
    check(
      'bytes of files for a stranger',
      Math.round(folder / all),
      `at most ${maxFileBytes}`,
      folder <= all * maxFileBytes,
    ),
    check(
      'growth of the database',
      `${megabytes(database)}, ${Math.round(database / all)} bytes for a stranger`,
      `at most ${maxDatabaseBytes} for a stranger, and for ${admitted} admitted messages: ${megabytes(databaseBar)}`,
      database <= databaseBar,
    ),
    ...grown.slice(0, 12).map(({ table, rows }) => fact(`  rows of ${table}`, `+${rows}`)),
    check('rows of the table that grew most', worst?.rows ?? 0, `at most ${allowed}`, (worst?.rows ?? 0) <= allowed),
    check(
      'memory of the process after the flood',
      `${before.rssMb.toFixed(0)} MB before, ${after.rssMb.toFixed(0)} MB after`,
      `at most ${maxRssGrowthMb} MB more`,
      after.rssMb - before.rssMb <= maxRssGrowthMb,
    ),
  ]
}

const megabytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MB`
