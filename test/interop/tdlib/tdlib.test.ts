// The oracle itself: TDLib reads, refuses and detects, or every test that asks it would say nothing.
import { expect, test } from 'vitest'
import { describeBeside } from '../peer.ts'
import { tdlib } from './tdlib.ts'

describeBeside('TDLib', tdlib, (peer) => {
  test('reads formatted text as text and entities', () => {
    expect(peer().parseHtml('a <b>bold</b> <pre><code class="language-ts">x</code></pre>')).toEqual({
      text: 'a bold x',
      entities: [
        { _: 'textEntity', offset: 2, length: 4, type: { _: 'textEntityTypeBold' } },
        { _: 'textEntity', offset: 7, length: 1, type: { _: 'textEntityTypePreCode', language: 'ts' } },
      ],
    })
  })

  test('refuses what it cannot parse, and says where', () => {
    expect(peer().parseHtml('<b>never closed')).toEqual({ rejected: expect.stringContaining('end tag') })
  })

  test('detects what would become live in plain text', () => {
    const found = peer().detect('hey @somebody, /start and a@b.example')
    expect(found.map(({ offset, type }) => [offset, type._])).toEqual([
      [4, 'textEntityTypeMention'],
      [15, 'textEntityTypeBotCommand'],
      [26, 'textEntityTypeEmailAddress'],
    ])
  })
})
