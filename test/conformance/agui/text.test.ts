// The words of an answer over AG-UI: the same in the stream and in JSON, as the agent wrote them, without what leads astray.
import { afterEach, expect, test } from 'vitest'
import { defineAgent } from '../../../src/agents/define-agent.ts'
import { textPart } from '../../../src/contract/index.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'
import { type Scene, startScene, stream, textIn, typesOf } from './agui-setup.ts'

describeOnDatabase('the words of an AG-UI answer', (database) => {
  let scene: Scene | undefined
  afterEach(async () => {
    await scene?.stop()
  })

  test.each([
    ['open __init__.py and snake__case <b>x</b> [x](y)', undefined],
    ['{"tools":["every__echo"],"list":[{"a":1}]}', undefined],
    ['# A__b\n\n[x](javascript:alert(1))', '# A__b\n\nx'],
    ['![x](https://elsewhere.example/p.png)', '[x](https://elsewhere.example/p.png)'],
  ])('%j are told alike, grown or at once', async (written, clean = written) => {
    const agent = defineAgent({
      slug: 'demo',
      run(_message, { show }) {
        show(written)
        return { parts: [textPart(written, 'text/markdown')] }
      },
    })
    scene = await startScene(database(), [agent])
    const { frames } = await stream(scene, { threadId: 't1', runId: 'r1' })
    const taken = typesOf(frames).lastIndexOf('MESSAGES_SNAPSHOT')
    expect(textIn(frames.slice(taken + 1))).toBe(clean)
    expect(taken === -1).toBe(clean === written)
    const { body } = await scene.api.run('r2', { isHere: true, threadId: 't2' })
    expect(body.messages).toEqual([{ role: 'assistant', content: clean }])
  })
})
