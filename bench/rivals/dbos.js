// DBOS Transact, one workflow of two steps for a message: answer and send. The webhook is answered once the workflow is stored, with
// the update as its id. Network code as in the references.
import { DBOS } from '@dbos-inc/dbos-sdk'
import { answerAtOnce, createSender, listenForUpdates } from '../references/wire.js'

export async function start({ databaseUrl, path, webhookSecret, botToken, apiUrl }) {
  let handled = 0
  const { send, close: closeSender } = createSender({ apiUrl, botToken })
  DBOS.setConfig({ name: 'bench', systemDatabaseUrl: databaseUrl, logLevel: 'error', runAdminServer: false })
  const answerMessage = DBOS.registerWorkflow(
    async ({ chat, text }) => {
      handled += 1
      const reply = await DBOS.runStep(async () => answerAtOnce(text), { name: 'answer' })
      await DBOS.runStep(() => send({ chat_id: chat, text: reply }), { name: 'send' })
    },
    { name: 'answerMessage' },
  )
  await DBOS.launch()
  const { port, close } = await listenForUpdates({ path, webhookSecret }, ({ update_id: id, message }) =>
    DBOS.startWorkflow(answerMessage, { workflowID: `telegram:${id}` })({ chat: message.chat.id, text: message.text }),
  )
  const stop = async () => {
    close()
    await DBOS.shutdown()
    closeSender()
  }
  return { port, stop, handled: () => handled }
}
