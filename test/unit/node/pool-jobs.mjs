// Jobs for worker-pool.test.ts: what a thread may do to its pool.
export const echo = (input) => input
export const sizeOf = ({ bytes }) => bytes.byteLength
export const fail = () => {
  throw new TypeError('no such thing')
}
export const never = () => new Promise(() => {})
export const spin = () => {
  for (;;);
}
export const leave = () => process.exit(1)
export const eat = () => {
  const held = []
  for (;;) held.push(Array.from({ length: 100_000 }, (_, at) => ({ at })))
}
export const overflow = () => {
  const deeper = () => deeper() + 1
  return deeper()
}
export const uncloneable = () => () => {}
export const crashLater = () => {
  setTimeout(() => {
    throw new Error('late')
  }, 1)
  return new Promise(() => {})
}
export const environment = () => Object.keys(process.env)
