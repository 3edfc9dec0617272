// Bolt with its own HTTP receiver and a listener that does nothing: verified, parsed, acknowledged, handed on. Nothing is kept.
import bolt from '@slack/bolt'

export async function start({ botToken, signingSecret, botUserId, path, apiUrl }) {
  let handled = 0
  const receiver = new bolt.HTTPReceiver({ signingSecret, endpoints: path, logLevel: 'error' })
  const app = new bolt.App({
    receiver,
    logLevel: 'error',
    clientOptions: { slackApiUrl: `${apiUrl}/` },
    authorize: async () => ({ botToken, botUserId, botId: 'B0PARLEY1' }),
  })
  app.event('app_mention', async () => {
    handled += 1
  })
  const server = await receiver.start({ port: 0, host: '127.0.0.1' })
  const stop = async () => {
    server.close()
    server.closeAllConnections()
  }
  return { port: server.address().port, stop, handled: () => handled }
}
