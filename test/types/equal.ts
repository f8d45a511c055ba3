/** Whether two types are one and the same: `any`, `unknown` and optional properties count. */
type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true : false

/** `is<Expected>()(value)` compiles when the type of the value is that one. */
export declare function is<A>(): <B>(value: B, ...wrong: Equal<A, B> extends true ? [] : [expected: A, got: B]) => void
