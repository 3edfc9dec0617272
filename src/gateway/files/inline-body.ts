// Bytes that came inside a message; its schema has checked how they are written and how many there are.
export function inlineBody(base64: string): ReadableStream<Uint8Array> {
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
  return new ReadableStream({
    start(controller) {
      if (bytes.length > 0) controller.enqueue(bytes)
      controller.close()
    },
  })
}
