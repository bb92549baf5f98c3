export const name = "module";
