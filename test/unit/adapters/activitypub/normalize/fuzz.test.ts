// Whatever somebody writes into an activity, what comes of it is valid or none (mail X-006); and the name of an agent goes from the
// beginning of a note and from nowhere else.
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { withoutLeadingMention } from '../../../../../adapters/activitypub/normalize/parts.ts'
import { validateMessage } from '../../../../../src/contract/validate-message.ts'
import { aCreate, alice, aNote, readAs, us } from '../../../../conformance/activitypub/message-setup.ts'
import { isLinear } from '../../../../doubles/linear-time.ts'
import { scaled } from '../../../../setup/scale.ts'

const scope = {
  from: 'adapter',
  receivedVia: new Set(['activitypub']),
  authMethods: new Set(['ap-http-signature']),
} as const

describe('an activity of anybody', () => {
  test('becomes valid messages or none', () => {
    const fields = [
      'id',
      'type',
      'content',
      'contentMap',
      'summary',
      'tag',
      'to',
      'cc',
      'inReplyTo',
      'context',
      'conversation',
      'attachment',
      'oneOf',
      'anyOf',
      'quote',
      'url',
      'published',
      'updated',
      'name',
      'attributedTo',
      'language',
    ]
    const value = fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.webUrl(), fc.constantFrom(us, alice, 'Public', '@demo'))
    const type = fc.constantFrom('Create', 'Update', 'Delete', 'Follow', 'Undo', 'Block', 'Flag', 'Announce', 'Odd')
    fc.assert(
      fc.property(type, fc.dictionary(fc.constantFrom(...fields), value), (kind, changes) => {
        const activity = { ...aCreate(aNote(changes)), type: kind, id: `${alice}#1` }
        for (const each of readAs(activity)) {
          if (each.kind === 'ignored') expect(each.reason).toMatch(/^[a-z_]+$/)
          else expect(validateMessage(each.message, scope), JSON.stringify(changes)).toMatchObject({ ok: true })
        }
      }),
      { numRuns: scaled(400) },
    )
  })

  test('is read in time that grows with it', () => {
    const note = (size: number) => aCreate(aNote({ content: `<p>${'@a <b>x'.repeat(size)}</p>` }))
    expect(
      isLinear(
        () => readAs(note(4000)),
        () => readAs(note(8000)),
      ),
    ).toBe(true)
  })
})

describe('the name of the agent', () => {
  const names = ['@demo@bot.example', '@demo']
  test.each([
    ['@demo@bot.example hello', 'hello'],
    ['@Demo: hello', 'hello'],
    ['@bob@x.example @demo hello', '@bob@x.example hello'],
    ['@demo @demo hello', 'hello'],
    ['hello @demo', 'hello @demo'],
    ['@demo@evil.example hello', '@demo@evil.example hello'],
    ['@demo-two hello', '@demo-two hello'],
    ['@demonstrate hello', '@demonstrate hello'],
  ])('%s is read as %s', (said, expected) => {
    expect(withoutLeadingMention(said, names)).toBe(expected)
  })
})
