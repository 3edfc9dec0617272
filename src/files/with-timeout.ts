// A promise with a timeout. The work itself is not cancelled when it is late.

export async function withTimeout<Result>(work: Promise<Result>, ms: number, late: () => Error): Promise<Result> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const end = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(late()), Math.max(0, ms))
  })
  try {
    return await Promise.race([work, end])
  } finally {
    if (timer !== undefined) clearTimeout(timer)
  }
}
