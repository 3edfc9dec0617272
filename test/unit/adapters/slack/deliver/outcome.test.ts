// What Slack says no with, word by word: every error its reference names for the methods Parley calls has a meaning, and one outcome.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { classifySlackError, type ErrorClass, knownErrors } from '../../../../../adapters/slack/deliver/web-api.ts'
import type { DeliveryResult } from '../../../../../src/contract/index.ts'
import { createAttempt } from '../../../../../src/testing/adapter-contract-outbound.ts'
import { adapterWith } from '../../../../conformance/slack/slack-setup.ts'
import { apiError, type SlackApi, startSlackApi } from '../../../../doubles/slack-api.ts'
import { commonErrors, errorsOf } from '../../../../doubles/slack-errors.ts'

const documented = [...new Set([...commonErrors, ...Object.values(errorsOf).flat()])]

/** Of a post, which must not be made twice, and of an edit, which may. */
const outcomes: Readonly<Record<ErrorClass, readonly [DeliveryResult['kind'], DeliveryResult['kind']]>> = {
  doubt: ['unknown', 'retry'],
  later: ['retry', 'retry'],
  limit: ['retry', 'retry'],
  token: ['refused', 'refused'],
  setup: ['refused', 'refused'],
  absent: ['refused', 'refused'],
  place: ['refused', 'refused'],
  blocks: ['refused', 'refused'],
  edited: ['refused', 'refused'],
  done: ['refused', 'refused'],
  form: ['refused', 'refused'],
}

describe('an error of Slack', () => {
  let api: SlackApi
  beforeAll(async () => {
    api = await startSlackApi()
  })
  afterAll(async () => {
    await api.close()
  })
  const say = async (method: string, error: string): Promise<DeliveryResult> => {
    const adapter = adapterWith({ apiUrl: `${api.origin}/api/` })
    api.failNext(method, apiError(error))
    const payload = { channel: 'C1', text: 'x', ...(method === 'chat.update' ? { ts: '1.1' } : {}) }
    return adapter.deliver({ method, account: 'T0PARLEY1', payload }, createAttempt(1))
  }

  test.each(documented)('%s is in the table', (error) => {
    expect(knownErrors).toContain(error)
  })

  test.each(knownErrors.map((error) => [error, classifySlackError(error)] as const))(
    '%s (%s) has one outcome',
    async (error, kind) => {
      const said = [await say('chat.postMessage', error), await say('chat.update', error)]
      expect(said.map((outcome) => outcome.kind)).toEqual(outcomes[kind])
      const limited = said.map((outcome) => (outcome.kind === 'retry' ? outcome.afterMs : undefined))
      expect(limited).toEqual(kind === 'limit' ? [30_000, 30_000] : [undefined, undefined])
    },
  )

  test.each([
    ['something_new', 'refused', 'refused'],
    ['something_went_failed', 'unknown', 'retry'],
    ['backend_timeout', 'unknown', 'retry'],
    ['search_unavailable', 'unknown', 'retry'],
  ])('%s, which nobody has met, is judged by its end', async (error, post, edit) => {
    expect([(await say('chat.postMessage', error)).kind, (await say('chat.update', error)).kind]).toEqual([post, edit])
  })

  test('is said with its own word, and no word has two meanings', async () => {
    expect(await say('chat.postMessage', 'is_archived')).toEqual({ kind: 'refused', reason: 'is_archived' })
    expect(new Set(knownErrors).size).toBe(knownErrors.length)
  })
})
