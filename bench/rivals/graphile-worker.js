// Graphile Worker, two jobs for a message: one answers, one sends. The webhook is answered once the first is stored; a job key
// keeps an update that comes again from being a second job while the first is there. Network code as in the references.
import { Logger, run } from 'graphile-worker'
import { answerAtOnce, createSender, listenForUpdates } from '../references/wire.js'

export async function start({ databaseUrl, path, webhookSecret, botToken, apiUrl }) {
  let handled = 0
  const { send, close: closeSender } = createSender({ apiUrl, botToken })
  const runner = await run({
    connectionString: databaseUrl,
    concurrency: 32,
    maxPoolSize: 10,
    noHandleSignals: true,
    logger: new Logger(() => () => {}),
    taskList: {
      async answer({ chat, text }, { addJob }) {
        handled += 1
        await addJob('send', { chat_id: chat, text: answerAtOnce(text) })
      },
      async send(call) {
        await send(call)
      },
    },
  })
  const { port, close } = await listenForUpdates({ path, webhookSecret }, ({ update_id: id, message }) =>
    runner.addJob('answer', { chat: message.chat.id, text: message.text }, { jobKey: `telegram:${id}` }),
  )
  const stop = async () => {
    close()
    await runner.stop()
    closeSender()
  }
  return { port, stop, handled: () => handled }
}
