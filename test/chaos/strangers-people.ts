// The admitted people of the crash test `strangers`: each writes over one channel, waits for the answer, and goes on.
import { createHmac } from 'node:crypto'
import type { Fediverse } from '../doubles/fediverse.ts'
import { aMention, type Person, personKeys, settlePerson } from '../doubles/fediverse-person.ts'
import { draftMail, signMail } from '../doubles/signed-mails.ts'
import type { SlackApi } from '../doubles/slack-api.ts'
import type { SmtpSink } from '../doubles/smtp-sink.ts'
import { submit } from '../doubles/submit-mail.ts'
import type { TelegramApi } from '../doubles/telegram-api.ts'
import { eventually } from './crash-test.ts'
import { accounts, type StrangersGateway } from './strangers-gateway.ts'

export type ChannelName = 'slack' | 'telegram' | 'email' | 'activitypub' | 'a2a'

/** How long an answer took; undefined: it never came. */
export type Asked = { readonly channel: ChannelName; readonly number: number; readonly ms: number | undefined }

export type AdmittedPeople = {
  /** One person of each channel writes, and is answered or not. */
  readonly askAll: (number: number) => Promise<readonly Asked[]>
  /** How many answers the person of this number got. */
  readonly answersTo: (channel: ChannelName, number: number) => number
}

export type Places = {
  readonly slack: SlackApi
  readonly telegram: TelegramApi
  readonly sink: SmtpSink
  readonly fediverse: Fediverse
}

export const channelNames: readonly ChannelName[] = ['slack', 'telegram', 'email', 'activitypub', 'a2a']
export const peopleHost = '127.0.0.1'
export const mailDomain = 'people.example'

export const mailAddress = (number: number): string => `person-${number}@${mailDomain}`
export const telegramId = (number: number): number => 5_000_000 + number
const slackPlace = (number: number): string => `D0PERSON${String(number).padStart(4, '0')}`

/** What the agent says, and nothing that refuses. */
const isAnswer = (text: string): boolean => text.includes('It is noted')

const patienceMs = 60_000
const lookMs = 5

/** `known`: so many accounts of the fediverse write in turn, so that each is known from before when strangers come. */
export function admitPeople(
  gateway: StrangersGateway,
  places: Places,
  { token, known }: { readonly token: string; readonly known: number },
): AdmittedPeople {
  const keys = personKeys()
  const people = new Map<number, Person>()
  const calls = new Map<number, number>()
  const notes = new Map<number, string>()
  const person = (number: number): Person => {
    const at = number % known
    const found = people.get(at) ?? settlePerson(places.fediverse, peopleHost, `person-${at}`, {}, keys)
    people.set(at, found)
    return found
  }
  const write: Readonly<Record<ChannelName, (number: number) => Promise<void>>> = {
    slack: (number) => writeSlack(gateway, number),
    telegram: (number) => writeTelegram(gateway, number),
    email: (number) => writeMail(gateway, number),
    activitypub: async (number) => void notes.set(number, await writeNote(gateway, person(number))),
    a2a: async (number) => {
      if (await callAgent(gateway, token, number)) calls.set(number, (calls.get(number) ?? 0) + 1)
    },
  }
  const answersTo: AdmittedPeople['answersTo'] = (channel, number) => {
    switch (channel) {
      case 'slack':
        return places.slack.posts.filter(({ channel: at, text }) => at === slackPlace(number) && isAnswer(text)).length
      case 'telegram':
        return places.telegram.sent.filter(
          ({ chat_id, text }) => chat_id === String(telegramId(number)) && isAnswer(text),
        ).length
      case 'email':
        return new Set(
          places.sink.mails
            .filter(({ to, raw }) => to.includes(mailAddress(number)) && isAnswer(raw))
            .map(({ raw }) => /^Message-ID:\s+(\S+)/im.exec(raw)?.[1]),
        ).size
      case 'activitypub':
        // What comes to the inbox that their server shares is written down by one of them.
        return new Set(
          [...people.values()]
            .flatMap(({ received }) => received)
            .filter(({ body }) => body.type === 'Create' && body.object.inReplyTo === notes.get(number))
            .map(({ body }) => body.object.id),
        ).size
      case 'a2a':
        return calls.get(number) ?? 0
    }
  }
  const ask = async (channel: ChannelName, number: number): Promise<Asked> => {
    const started = performance.now()
    await write[channel](number)
    const isAnswered = await eventually(() => answersTo(channel, number) > 0, patienceMs, lookMs)
    return { channel, number, ms: isAnswered ? performance.now() - started : undefined }
  }
  return { answersTo, askAll: (number) => Promise.all(channelNames.map((channel) => ask(channel, number))) }
}

async function writeSlack({ url }: StrangersGateway, number: number): Promise<void> {
  const { signingSecret, team, botUserId, appId } = accounts.slack
  const seconds = Math.floor(Date.now() / 1000)
  const ts = `${seconds}.${String(number).padStart(6, '0')}`
  const body = JSON.stringify({
    token: 'unused',
    team_id: team,
    api_app_id: appId,
    type: 'event_callback',
    event_time: seconds,
    event_id: `Ev${String(number).padStart(9, '0')}`,
    event: {
      type: 'message',
      channel_type: 'im',
      channel: slackPlace(number),
      team,
      ts,
      event_ts: ts,
      user: `U0PERSON${String(number).padStart(4, '0')}`,
      text: `How is number ${number}?`,
      client_msg_id: crypto.randomUUID(),
    },
    authorizations: [
      { enterprise_id: null, team_id: team, user_id: botUserId, is_bot: true, is_enterprise_install: false },
    ],
  })
  const mac = createHmac('sha256', signingSecret).update(`v0:${seconds}:${body}`).digest('hex')
  await post(`${url}/hooks/slack/default`, body, {
    'x-slack-request-timestamp': String(seconds),
    'x-slack-signature': `v0=${mac}`,
  })
}

async function writeTelegram({ url }: StrangersGateway, number: number): Promise<void> {
  const who = { id: telegramId(number), first_name: 'Ada' }
  const message = {
    message_id: 1,
    date: Math.floor(Date.now() / 1000),
    text: `How is number ${number}?`,
    from: { ...who, is_bot: false, language_code: 'en' },
    chat: { ...who, type: 'private' },
  }
  const body = JSON.stringify({ update_id: 1_000_000 + number, message })
  const headers = { 'x-telegram-bot-api-secret-token': accounts.telegram.webhookSecret }
  await post(`${url}/hooks/telegram/default`, body, headers)
}

async function writeMail({ mailPort }: StrangersGateway, number: number): Promise<void> {
  const from = mailAddress(number)
  const draft = draftMail({
    from: `Person <${from}>`,
    to: accounts.mail.address,
    subject: 'A question',
    head: [`Message-ID: <${crypto.randomUUID()}@${mailDomain}>`, `Date: ${new Date().toUTCString()}`],
    body: `How is number ${number}?\n`,
  })
  const headers = ['from', 'to', 'subject', 'date', 'message-id', 'content-type', 'mime-version']
  const signed = await signMail(draft, { domain: mailDomain, signTime: new Date().toISOString(), headers })
  const answer = await submit(mailPort, [`MAIL FROM:<${from}>`, `RCPT TO:<${accounts.mail.address}>`], signed)
  if (!answer.startsWith('250 ')) throw new Error(`an admitted mail was refused: ${answer}`)
}

/** Answers the note's id. */
async function writeNote({ url }: StrangersGateway, person: Person): Promise<string> {
  const activity = aMention(person, `${url}/ap/echo`, `How is ${crypto.randomUUID()}?`)
  const status = await person.post(`${url}/ap/echo/inbox`, activity)
  if (status !== 202) throw new Error(`an admitted note was refused: ${status}`)
  return activity.object.id
}

/** Whether it was answered. */
async function callAgent({ url }: StrangersGateway, token: string, number: number): Promise<boolean> {
  const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text: `How is number ${number}?` }] }
  const body = JSON.stringify({ jsonrpc: '2.0', id: number, method: 'SendMessage', params: { message } })
  const text = await post(`${url}/a2a`, body, { authorization: `Bearer ${token}`, 'a2a-version': '1.0' })
  return isAnswer(text)
}

async function post(url: string, body: string, headers: Readonly<Record<string, string>>): Promise<string> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
    signal: AbortSignal.timeout(patienceMs),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`an admitted request was refused: ${response.status} ${text.slice(0, 300)}`)
  return text
}
