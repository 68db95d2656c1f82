//! What programs talk to over a wire: MCP, on standard input and output or over HTTP. Sees domain, the engine's
//! handle and the tools; wire types live here, rules do not. Start reading at [`mcp`].

pub mod mcp;
